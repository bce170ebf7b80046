"""Kineto (torch.profiler) Chrome traces: bytes, then events, then columns."""
