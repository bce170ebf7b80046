"""What follows a recovery: the step is captured again, so that the record says whether the gap is gone."""
