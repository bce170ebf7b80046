import numpy


def step(x):
    return x + 1  # because
