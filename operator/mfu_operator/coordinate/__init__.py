"""What runs in the profiling Job of a live capture: asks the ranks, agrees on the steps, fetches, analyses and merges.

crew      the ranks, asked side by side, and who of them is missing and why
agreement which steps all of them record
collect   traces as they arrive, one in memory at a time
result    the merged account as it leaves the pod
run       all of it within one deadline
"""
