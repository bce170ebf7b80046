"""From what each commit changed of what a workload gets to the one that did it, or none."""
