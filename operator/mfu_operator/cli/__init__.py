"""`kubectl mfu`: what a person asks of the operator, of a trace, or of history."""
