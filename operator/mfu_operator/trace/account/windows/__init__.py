"""Which windows of a recording are steps where none are marked, and which of them the mean is not over."""
