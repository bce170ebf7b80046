"""What other tools say of the same public traces."""
