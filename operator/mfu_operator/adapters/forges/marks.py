"""How the operator knows its own words on a forge again: by a line that no host shows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mfu_operator.model.proposal import Closing

WITHDRAWN = "[//]: # (mfu-operator: withdrawn)"
"""In the description of a pull request that the operator closed itself, which only its writers can edit."""

NOTE = "[//]: # (mfu-operator: note)"
"""In the operator's one comment. A link reference that nothing refers to: Markdown renders it nowhere, and Bitbucket,
which shows HTML comments, hides it too."""

LONGEST = 30_000
"""Characters of a description or comment: Bitbucket takes 32,768, GitHub 65,536."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as the forge tells it. `author` is whatever the forge tells people apart by."""

    id: int | str
    text: str
    author: object


def closing_text(remark: str, closing: Closing, body: str, longest: int = LONGEST) -> str:
    """The description of a pull request that the operator closes: the remark above what was there."""
    if WITHDRAWN in body:
        return body
    head = f"{remark.strip()}\n\n---\n\n"
    tail = f"\n\n{WITHDRAWN}\n" if closing is Closing.NOT_NEEDED else "\n"
    return f"{head}{cut(body.strip(), longest - len(head) - len(tail))}{tail}"


def keep_note(
    text: str,
    comments: Iterable[Comment],
    author: object,
    make: Callable[[str], object],
    edit: Callable[[Comment, str], object],
) -> None:
    """Have the operator's comment say `text`, with as few requests as that takes.

    It is the one that has the mark and whose author opened the pull request: others may write the mark too.
    """
    said = f"{cut(text.strip(), LONGEST - len(NOTE) - 3)}\n\n{NOTE}"
    known = next((each for each in comments if NOTE in each.text and each.author == author), None)
    if known is None:
        make(said)
    elif known.text.strip() != said:
        edit(known, said)


def cut(text: str, longest: int) -> str:
    """At most so many characters, ended at a line."""
    if len(text) <= longest:
        return text
    return text[: max(0, longest - 2)].rpartition("\n")[0] + "\n…"
