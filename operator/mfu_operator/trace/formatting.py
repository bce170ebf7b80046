"""How an account's numbers are written for people."""


def milliseconds(nanoseconds: float) -> str:
    """ "58.7 ms"; small values keep two significant digits."""
    value = nanoseconds / 1e6
    return f"{value:.1f} ms" if abs(value) >= 10 or value == 0 else f"{value:.2g} ms"
