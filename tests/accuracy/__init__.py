"""How often the cause that was switched on is the cause that is named."""
