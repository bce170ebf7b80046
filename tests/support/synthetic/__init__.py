"""Writes traces of a modelled training loop, with known truth."""
