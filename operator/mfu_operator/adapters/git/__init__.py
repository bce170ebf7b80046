"""Repositories: looked at and pushed to by a process of its own, with a deadline, that keeps nothing."""
