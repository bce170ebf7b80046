"""The parts of a pull request's description."""
