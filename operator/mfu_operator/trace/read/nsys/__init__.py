"""nsys SQLite exports: tables and columns are probed, never assumed."""
