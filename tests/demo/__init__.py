"""The main job, watched: a real training run, a commit that makes it slow, and what the operator does about it."""
