"""What the operator comes to when the world or the operator itself fails: `make faults`."""
