"""The operator over a fleet: `python -m tests.bench.fleet`, on a real API server and a real Prometheus."""
