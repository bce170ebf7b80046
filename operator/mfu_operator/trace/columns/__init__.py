"""Columns of a trace: sorted intervals, distinct values, joins, the parts by number, and the bounds of all."""
