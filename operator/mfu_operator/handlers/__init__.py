"""The only files that import kopf. Each handler reads, calls `process`, and writes the status back.

startup   settings, adapters, the sweep and the Lease, made once and closed at cleanup
baseline  what the API server tells of TrainingBaselines, handed to the fleet
probes    liveness
"""

from mfu_operator.handlers import baseline, probes, startup

__all__ = ["baseline", "probes", "startup"]
