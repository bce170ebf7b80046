"""The nouns: frozen values without I/O. Times are Unix seconds (float), durations carry their unit in the name."""
