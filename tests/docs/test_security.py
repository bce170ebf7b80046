"""Every promise of SECURITY.md is held by tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^\| (?!promise|actor|[-|])(.+?) \| (`tests/.+) \|$", TEXT, re.MULTILINE)
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", TEXT)))


def test_there_is_no_promise_without_a_test() -> None:
    section = TEXT.partition("## Promises")[2].partition("## What stays open")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert rows
    assert len(PROMISES) == len(rows)


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_holds_a_promise_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert (ROOT / file).is_file()
    assert not name or re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
