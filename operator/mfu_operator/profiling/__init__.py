"""Workload → profiling Job: the run's own pod template under nsys, and what became of it."""
