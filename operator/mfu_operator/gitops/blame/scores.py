"""How much one change is to be suspected, by the table of causes.

    1.00  a key of the diagnosed cause, in the direction that costs time
    0.65  a key that can bring the cause about beside its own ones, in the direction that costs time
    0.62  a key of another cause of the same bottleneck, in the direction that costs time
    0.60  a key of the cause, direction not to be told; an image, where the cause may lie in the image
    0.45  a key whose name resembles one of the cause, while no row of the table is of it
    0.40  a program, script or template whose text is not read by meaning
    0.30  a key of a cause of another bottleneck
    0.25  a key that the table does not know
    0.10  a key of the cause, in the direction that saves time
    0     nothing that a training step can see

A change is plausible from PLAUSIBLE on, and stands out where it is MARGIN above every other one.
"""

import re
from collections.abc import Sequence
from typing import Any

from mfu_operator.gitops.fingerprints import (
    Changed,
    Fingerprint,
    Pace,
    is_image,
    pace,
    table,
    without_effect,
    without_pace,
)

PLAUSIBLE = 0.5
"""The least score of a commit that may be held responsible."""

MARGIN = 0.3
"""How far the first must stand above the second."""

UNREAD = 0.4
RESEMBLING = 0.45
"""Below PLAUSIBLE: a key that no row of the table is of is told to a person, blames nobody and undoes nothing.

Patterns are wide, because people's names are many: of 273 names of other things that resemble (`timestamp`, `schema`,
`text_overlap_filter`) 247 were plausible before this rule held, and 125 of them had the full score.
"""
_WORDS = re.compile(r"[A-Za-z_][\w.-]{0,100}")


def of_change(change: Changed, cause: str | None) -> tuple[float, str]:
    """A key's score for a cause (or bottleneck; None: no diagnosis) and why."""
    if without_effect(change):
        return 0.0, "no training step sees it"
    if without_pace(change):
        return 0.0, "it changes what is learned, and not how long a step takes"
    meant, family, every = _fingerprints(cause)
    if is_image(change):
        fits = cause is None or any(fingerprint.image for fingerprint in meant)
        told = (0.6, f"a new image can cause {cause or 'a loss'}")
        return told if fits else (0.3, f"an image rarely causes {cause}")
    resembled = ""
    for fingerprint in sorted(meant, key=lambda each: _ORDER.index(pace(each, change))):
        found = pace(fingerprint, change)
        if found is Pace.RESEMBLING:
            resembled = resembled or fingerprint.cause
        elif found is not None:
            return _of_cause(found, fingerprint.cause)
    for fingerprint in family:
        if pace(fingerprint, change) is Pace.SLOWER:
            return 0.62, f"costs time as {fingerprint.cause}, which shows as the same bottleneck"
    if resembled:
        return RESEMBLING, f"its name resembles keys of {resembled}, and it is not one that is known: look at it"
    return _of_others(change, (*family, *every), cause)


_ORDER = (Pace.SLOWER, Pace.ASIDE, Pace.UNCLEAR, Pace.FASTER, Pace.RESEMBLING, None)


def of_text(before: object, after: object, cause: str | None) -> tuple[float, str]:
    """The score of a text that is not read by meaning: more where what changed in it names a key of the cause."""
    words = set(_WORDS.findall(str(before or ""))) ^ set(_WORDS.findall(str(after or "")))
    meant, _, _ = _fingerprints(cause)
    for word in sorted(words):
        if any(pace(fingerprint, _Named(word)) not in (None, Pace.RESEMBLING) for fingerprint in meant):
            return 0.6, f"a text that is not read by meaning; what changed in it names {word}, a key of {cause}"
    return UNREAD, "a text that is not read by meaning: its effect on the step is unknown"


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name
        self.old: Any = None
        self.new: Any = None
        self.was_there = True
        self.is_there = True


def _of_cause(found: Pace, cause: str) -> tuple[float, str]:
    return {
        Pace.SLOWER: (1.0, f"a key of {cause}, in the direction that costs time"),
        Pace.ASIDE: (0.65, f"can cause {cause}, although it is not its own key"),
        Pace.UNCLEAR: (0.6, f"a key of {cause}"),
        Pace.FASTER: (0.1, f"a key of {cause}, but in the direction that saves time"),
    }[found]


def _of_others(change: Changed, others: Sequence[Fingerprint], cause: str | None) -> tuple[float, str]:
    paces = {fingerprint.cause: pace(fingerprint, change) for fingerprint in others}
    named = [other for other, found in paces.items() if found not in (None, Pace.RESEMBLING)]
    if not named:
        return 0.25, f"a key that is not known to cause {cause or 'a loss'}"
    if all(paces[other] is Pace.FASTER for other in named):
        return 0.1, f"a key of {named[0]}, in the direction that saves time"
    if cause is None:
        slower = [other for other in named if paces[other] is Pace.SLOWER]
        return (0.8, f"costs time as {slower[0]}") if slower else (0.5, f"a key of {named[0]}")
    return 0.3, f"a key of {named[0]}, not of {cause}"


def _fingerprints(cause: str | None) -> tuple[list[Fingerprint], list[Fingerprint], list[Fingerprint]]:
    """The table's entries: of the cause (or bottleneck), of all of its bottleneck, and all."""
    every = list(table().causes.values())
    meant = [entry for entry in every if cause in (entry.cause, entry.bottleneck)]
    bottlenecks = {entry.bottleneck for entry in meant}
    return meant, [entry for entry in every if entry.bottleneck in bottlenecks], every
