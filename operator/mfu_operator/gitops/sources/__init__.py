"""Where an application comes from: its sources, what is rendered of each, and which files that reads."""
