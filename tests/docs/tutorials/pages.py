"""The tutorials as the tests read them: the files that a reader writes, and the commands that a reader types."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "runbooks" / "tutorials").glob("*.md"))


@dataclass(frozen=True, slots=True)
class Command:
    """One line of a shell block: its words, and the file that its output goes to."""

    page: str
    words: tuple[str, ...]
    into: str | None

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def commands(page: Path) -> Iterator[Command]:
    """What the reader types, in order."""
    for block in _blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line.removesuffix(" &"), comments=True)
            into = words[words.index(">") + 1] if ">" in words else None
            yield Command(page.stem, tuple(words[: words.index(">")] if into else words), into)


def files(page: Path) -> Mapping[str, str]:
    """What the reader writes, by name; the first line of each block is the name."""
    found: dict[str, str] = {}
    for block in _blocks(page, "yaml"):
        first, _, text = block.partition("\n")
        assert first.startswith("# "), f"{page.name}: a block of YAML begins with '# FILE'"
        found[first.removeprefix("# ")] = text
    return found


def objects(page: Path) -> Sequence[Mapping[str, Any]]:
    """The Kubernetes objects of its files (files of values are none)."""
    found = [each for text in files(page).values() for each in yaml.safe_load_all(text)]
    return [each for each in found if "kind" in each]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
