"""StepAccount → Diagnosis: what grew against the baseline, and the cause that explains it."""
