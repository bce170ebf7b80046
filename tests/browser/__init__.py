"""The page of `-o html` in a real browser."""
