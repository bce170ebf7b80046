"""Series of readings from the files that trainers and their loggers write."""

from mfu_operator.cli.replay.series.read import read_series

__all__ = ["read_series"]
