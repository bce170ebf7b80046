"""Capturing steps of the running job on request, and starting without a line of code.

session   what was asked for, and how far it is; the loop meets it at step boundaries
recorder  torch.profiler, where torch is there
server    /metrics and /capture on one port
token     who may ask
launch    `mfu_probe run -- COMMAND`, which puts the folder `hook` on PYTHONPATH
"""
