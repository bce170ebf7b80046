"""What names mean: kernels by category and part, ranges by what they stand for."""
