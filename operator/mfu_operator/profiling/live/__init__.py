"""Capturing steps of the running job: what the profiling Job is asked, and the Job itself.

request   which pods and ranks, as the operator tells the Job
choice    which of the run's pods and ranks are asked
steps     which steps all of them record
job       the manifest of the Job
"""
