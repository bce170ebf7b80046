"""Trace → StepAccount → Diagnosis. Reads the files it is given and nothing else."""
