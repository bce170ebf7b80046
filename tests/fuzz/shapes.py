"""What strangers send: a sound thing with a few places changed to anything, or no such thing at all."""

import json
import string
from typing import Any

from hypothesis import strategies as st

from tests.support.json_places import places, put

NUMBERS = st.sampled_from(
    [0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, 5e-324]
) | st.integers(-(10**6), 10**18)
DEEP = "\x02deep"
"""Stands for lists in lists, deeper than any program calls itself; `with_depth` puts them there."""
TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        DEEP,
        "",
        "\x00",
        "null",
        "1e999",
        "9" * 400,
        "\u202e",
        "a" * 70_000,
        "2026-11-21T06:30:00Z",
        "20261121",
        "-",
        "../..",
        "\n",
    ]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(string.ascii_letters, max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


def with_depth(text: str) -> str:
    """JSON with what `DEEP` stands for: lists, or objects of the same key."""
    place = json.dumps(DEEP)
    return text.replace(place, "[" * 50_000 + "]" * 50_000, 1).replace(place, '{"a":' * 50_000 + "1" + "}" * 50_000)


@st.composite
def changed(draw: st.DrawFn, sound: Any) -> Any:
    """A sound JSON value with up to three of its places changed to anything or gone."""
    value = sound
    for _ in range(draw(st.integers(0, 3))):
        there = places(value)
        if not there:
            return draw(JSON)
        value = put(value, draw(st.sampled_from(there)), draw(st.just(...) | JSON))
    return value


def texts_of(*pieces: str) -> st.SearchStrategy[str]:
    """Texts that are made of a language's own pieces, of its separators, and of anything."""
    return st.lists(
        st.sampled_from(pieces) | st.text(max_size=4) | st.sampled_from(["\n", " ", "  ", "\t"]), max_size=40
    ).map("".join)


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """Bytes of which a piece is cut out, doubled or replaced."""
    begin, length = draw(st.integers(0, len(sound))), draw(st.integers(0, 64))
    piece = draw(st.binary(max_size=16) | st.just(sound[begin : begin + length] * 2))
    return sound[:begin] + piece + sound[begin + length :]
