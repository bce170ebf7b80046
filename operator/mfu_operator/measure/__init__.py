"""Readings of the fleet, apart from reconciling: each source is read once per interval for all baselines together."""
