"""Verdicts on real traces, on runs that were changed in them, and on recordings that lack something."""
