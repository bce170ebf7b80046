"""Readings as a reviewer reads them."""

from mfu_operator.model.baseline import Signal


def signal_name(signal: str) -> str:
    """The signal in a sentence: "MFU", "step time", "throughput"."""
    return {Signal.MFU: "MFU", Signal.STEP_TIME: "step time", Signal.THROUGHPUT: "throughput"}.get(
        Signal(signal), signal
    )


def value(signal: str, amount: float) -> str:
    """A value with its unit: "0.381", "85.7 ms", "1,250 tokens/s per GPU"."""
    if signal == Signal.STEP_TIME:
        return f"{amount * 1e3:.1f} ms" if amount < 1 else f"{amount:.2f} s"
    return f"{amount:.3f}" if signal == Signal.MFU else f"{amount:,.0f} tokens/s per GPU"
