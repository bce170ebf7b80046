"""mfu-operator: finds the commit that made training slow and proposes its revert."""

__version__ = "0.1.0"
