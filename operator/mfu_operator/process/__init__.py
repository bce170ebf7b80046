"""The operator's process: the loop over the fleet, leadership, telemetry, and the wiring of adapters to ports."""
