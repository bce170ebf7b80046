"""Every trace of a folder, damaged in every way: `make damage`."""
