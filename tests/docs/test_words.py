"""Texts that people read use the glossary's words: README, definition, chart, runbooks, messages and help texts."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "operator" / "GLOSSARY.md"
REFUSED = {
    "anew": r"\banew\b",
    "is told, can be told from": r"\b(is|are|was|were|be) told\b|\btold from\b",
    "say of, nothing is said of": r"\bsa(ys?|id) (nothing |anything )?of\b",
    "is not to be found": r"\bnot to be \w+(ed|en|nd|ld)\b",
    "is no number, is none of": (
        r"(?<!there )\bis no (number|text|list|mapping|address|trace|commit|file|folder|field)\b|\b(is|are) none of\b"
    ),
    "of the past": r"\bof the past\b",
    "as may be": r"\bas may be\b",
    "come to no step": r"\bc[ao]mes? to no\b",
    "bring about": r"\bb(rought|ring|rings) about\b",
    "whoever": r"\bwhoever\b",
    "stands still": r"\bst(ands?|ood) still\b",
    "thereof, hereby, wherein": r"\b(there|here|where)(of|by|in|upon|with)\b",
    "is held against, were held against": r"\b(is|are|was|were|be) held against\b",
    "speaks of, speak of": r"\bspeaks? of\b",
}
PAGES = (
    "*.md",
    "charts/**/*.md",
    "charts/**/*.yaml",
    "charts/**/*.txt",
    "crds/**/*.yaml",
    "operator/*.md",
    "operator/mfu_probe/*.md",
    "operator/mfu_operator/**/*.yaml",
    "runbooks/**/*.md",
)


def literals(path: Path) -> Iterator[str]:
    """The texts of a module that are not its documentation."""
    tree = ast.parse(path.read_text())
    documentation = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Where a text is, and the text."""
    return tuple(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "operator").rglob("*.py")):
        yield from ((str(path.relative_to(ROOT)), text) for text in literals(path))
    for path in sorted({page for pattern in PAGES for page in ROOT.glob(pattern)} - {GLOSSARY}):
        yield str(path.relative_to(ROOT)), path.read_text()


@pytest.mark.parametrize("words", REFUSED)
def test_no_text_has_words_that_the_glossary_refuses(words: str) -> None:
    refused = re.compile(REFUSED[words], re.IGNORECASE)
    found = [
        f"{where}: {text[max(0, hit.start() - 40) : hit.end() + 40]}"
        for where, text in texts()
        for hit in refused.finditer(text)
    ]
    assert found == []


def test_the_glossary_lists_what_is_refused() -> None:
    style = GLOSSARY.read_text().partition("| not | but |")[2]
    assert re.findall(r"^\| ([^|]+) \| [^|]+ \|$", style, re.MULTILINE) == list(REFUSED)


@pytest.mark.parametrize("words", REFUSED)
def test_each_row_of_the_glossary_is_refused(words: str) -> None:
    assert all(re.search(REFUSED[words], example) for example in words.split(", "))
