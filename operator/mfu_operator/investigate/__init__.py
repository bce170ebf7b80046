"""Which commit did it, from a clone: histories opened, every revision rendered, commits compared, a proposal tried."""
