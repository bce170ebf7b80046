"""Our own profiling Jobs: which nodes they share with the runs, and what they cost."""
