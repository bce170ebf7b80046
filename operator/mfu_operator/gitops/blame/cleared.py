"""What came with no commit, was set back by a pin that was merged, and brought nothing back."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from mfu_operator.gitops.blame.model import Moved, Window
from mfu_operator.gitops.rendered.difference import Difference

IMAGE = "image"
"""The kind of the place that stands for an image which was rebuilt under its tag."""


def pin_id(differences: Sequence[Difference], moved: Sequence[Moved]) -> str:
    """What stands for the commit where there is none: the same for the same places and images."""
    facts = sorted((*(each.place for each in differences), *((each.reference, each.bad) for each in moved)))
    return f"outside-{sha256(repr(facts).encode()).hexdigest()[:40]}"


def without_cleared(window: Window, outside: Sequence[Difference], exonerated: Collection[str]) -> Window:
    """The window with what pins set back in vain marked as such.

    Args:
        window: what was compared.
        outside: what no commit of it changed, and can have brought the cause about.
        exonerated: ids of pins, among others.
    """
    cleared: set[tuple[str, str]] = set()
    if outside and pin_id(outside, ()) in exonerated:
        cleared.update(each.place for each in outside)
    if window.moved and pin_id((), window.moved) in exonerated:
        cleared.update((IMAGE, each.reference) for each in window.moved)
    return replace(window, cleared=frozenset(cleared)) if cleared else window


def still_moved(window: Window) -> tuple[Moved, ...]:
    """The images that were rebuilt, without those that were set back in vain."""
    return tuple(each for each in window.moved if (IMAGE, each.reference) not in window.cleared)


def in_vain(window: Window) -> Iterable[str]:
    """What was set back in vain, as it is told."""
    yield from (str(each) for each in window.changed if each.place in window.cleared)
    yield from (f"image {each.reference}" for each in window.moved if (IMAGE, each.reference) in window.cleared)
