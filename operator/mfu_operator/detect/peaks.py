"""Reads `gpu_peaks.tsv`: what a GPU can do at most. mfu_probe has the same table, so that both compute the same MFU."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from mfu_operator.detect.precision import precision_of
from mfu_operator.errors import Stall

_TERA = 1e12
_SLICE = "mig"
"""In the names that driver and node labels give to a slice of a card (NVIDIA's multi-instance GPU)."""

_NAMES_KEPT = 1024
"""Jobs write the names: more than this many GPUs and precisions are looked up again."""


@dataclass(frozen=True, slots=True)
class Peak:
    """One line of the table, in FLOP/s. `words` all stand in the device's name; sparse None: it has no sparsity."""

    words: frozenset[str]
    name: str
    precision: str
    dense: float
    sparse: float | None
    source: str


@cache
def peaks() -> tuple[Peak, ...]:
    """The table, in the order in which names are tried."""
    text = resources.files(__package__).joinpath("gpu_peaks.tsv").read_text(encoding="utf-8")
    return tuple(_read(line) for line in text.splitlines() if not line.startswith("#"))


@lru_cache(maxsize=_NAMES_KEPT)
def dense_peak(gpu: str, precision: str) -> float:
    """Dense peak in FLOP/s of a device (as driver, DCGM or node label name it) at a precision.

    Raises:
        Stall: UnknownPeak, where the table does not hold it, the name fits several cards, or it is a slice of one.
    """
    wanted, words = precision_of(precision), _words(gpu)
    card = _card(words)
    for each in peaks():
        if each.name == card and each.precision == wanted:
            return each.dense
    raise Stall("UnknownPeak", f"{_why_unknown(gpu, words, card, wanted)}; or declare metrics.peakFlopsPerGpu")


def are_told_apart(one: str, other: str) -> bool:
    """Whether two names are of cards whose peaks differ: "H200" is no "H200 NVL", although its name is in it.

    A name that fits several cards is told from none of them."""
    cards = [_card(_words(name)) for name in (one, other)]
    if None in cards:
        return False
    known = [{each.precision: each.dense for each in peaks() if each.name == card} for card in cards]
    return known[0] != known[1]


def is_slice(gpu: str) -> bool:
    """Whether the name is that of a part of a card."""
    return _SLICE in _words(gpu)


def _card(words: frozenset[str]) -> str | None:
    """The name in the table; None where it has none, or of a slice."""
    return None if _SLICE in words else next((each.name for each in peaks() if each.words <= words), None)


def _why_unknown(gpu: str, words: frozenset[str], card: str | None, precision: str) -> str:
    if card is not None:
        known = ", ".join(each.precision for each in peaks() if each.name == card)
        return f"no peak is known of {gpu!r} at precision {precision!r}: write one of {known}"
    if _SLICE in words:
        return f"{gpu!r} is a slice of a card, and the table has peaks of whole cards"
    candidates = sorted({each.name for each in peaks() if words & each.words & _models()})
    if candidates:
        return f"the GPU's name {gpu!r} fits several cards ({', '.join(candidates)}): write it as the driver does"
    return f"no peak is known of a GPU called {gpu!r}: correct comparable.gpu"


def _models() -> frozenset[str]:
    """The words that name a chip: each name's first."""
    return frozenset(each.name.lower().split()[0] for each in peaks())


def _read(line: str) -> Peak:
    name, precision, dense, sparse, source = line.split("\t")
    return Peak(
        _words(name), name, precision, float(dense) * _TERA, float(sparse) * _TERA if sparse else None, source
    )  # fmt: skip


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.lower()))
