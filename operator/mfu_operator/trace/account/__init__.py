"""Trace → StepAccount: steps found, every nanosecond of them given to one part, devices and ranks merged."""
