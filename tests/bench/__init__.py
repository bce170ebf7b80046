"""Whole processes, measured side by side."""
