"""Shell scripts as the programs that they run, each as its words. Reading is linear.

Nothing is expanded but lists of words that stand in the script itself: `ARGS=(--bf16 --num-workers 8)` and
`ARGS="--bf16 --num-workers 8"` are read where `${ARGS[@]}` or `$ARGS` is.
"""

import posixpath
import re
from dataclasses import dataclass, field

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})
MAX_CHARACTERS = 256 * 1024
MAX_LIST = 2_000
"""Words of one list; a longer one is read where it is written."""

_USED = re.compile(r"\$(?:\{([A-Za-z_]\w{0,200})(?:\[[@*]\])?\}|([A-Za-z_]\w{0,200}))\Z")
_LIST = re.compile(r"([A-Za-z_]\w{0,200})\+?=\Z")
_TEXT = re.compile(r"([A-Za-z_]\w{0,200})(\+?)=(.*\s.*|-.*)\Z", re.DOTALL)


@dataclass(slots=True)
class Script:
    """`programs` in their order; `documents` are the texts of `<<EOF` blocks by the words of the line they stand in."""

    programs: list[list[str]] = field(default_factory=list)
    documents: list[tuple[str, str]] = field(default_factory=list)


def read(text: str) -> Script:
    """The programs of a script; what lies behind MAX_CHARACTERS is one word of its own."""
    reader = _Reader(text[:MAX_CHARACTERS])
    script = reader.script()
    if len(text) > MAX_CHARACTERS:
        script.programs.append([text[MAX_CHARACTERS:]])
    return script


def is_script(name: str, text: str) -> bool:
    """Whether a file is a shell script: by its extension, or by the interpreter that its first line names."""
    if name.endswith((".sh", ".bash")):
        return True
    text = text.lstrip()
    words = text[2:].partition("\n")[0].split() if text.startswith("#!") else []
    if words and posixpath.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return bool(words) and posixpath.basename(words[0]) in SHELLS


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._word: list[str] = []
        self._in_word = False
        self._program: list[str] = []
        self._before: list[str] = []
        self._script = Script()
        self._awaited: list[str] = []
        self._lists: dict[str, list[str]] = {}
        self._unused: dict[str, list[str]] = {}
        self._open: str | None = None

    def script(self) -> Script:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "(" and self._open is None and _LIST.match("".join(self._word)):
                self._begin_list()
            elif char == ")" and self._open is not None:
                self._end_list()
            elif char in "'\"":
                self._quoted(char)
            elif char == "\\":
                self._escaped()
            elif text.startswith("$(", self._at):
                self._substituted()
            elif char == "#" and not self._in_word:
                self._at = self._line_end()
            elif text.startswith("<<<", self._at):
                self._add("<<<")
                self._at += 3
            elif text.startswith("<<", self._at):
                self._here_document()
            elif self._open is not None and char in "\n;&|(":
                self._end_word()
                self._at += 1
            elif char == "\n":
                self._end_program()
                self._at += 1
                self._read_documents()
            elif char in ";&|()":
                self._end_program()
                self._at += 1
            elif char.isspace():
                self._end_word()
                self._at += 1
            else:
                self._add(char)
                self._at += 1
        self._end_program()
        self._script.programs.extend([f"{name}=", *words] for name, words in self._unused.items())
        return self._script

    def _begin_list(self) -> None:
        """`NAME=(`: what follows up to `)` are the words of a list."""
        self._open = "".join(self._word)
        self._word, self._in_word, self._at = [], False, self._at + 1
        self._before, self._program = self._program, []

    def _end_list(self) -> None:
        self._end_word()
        name, words = (self._open or "").rstrip("=").rstrip("+"), self._expanded(self._program)
        self._keep(name, [*self._lists.get(name, []), *words] if (self._open or "").endswith("+=") else words)
        self._open, self._program, self._at = None, self._before, self._at + 1

    def _keep(self, name: str, words: list[str]) -> None:
        if len(words) <= MAX_LIST:
            self._lists[name] = self._unused[name] = words
        else:
            self._script.programs.append([f"{name}=", *words[:MAX_LIST]])

    def _expanded(self, words: list[str]) -> list[str]:
        """The words with lists in the place of what names them, as long as that stays within bounds."""
        found: list[str] = []
        for word in words:
            used = _USED.match(word)
            name = (used[1] or used[2]) if used else ""
            if name in self._lists and len(found) + len(self._lists[name]) <= MAX_LIST:
                self._unused.pop(name, None)
                found.extend(self._lists[name])
            else:
                found.append(word)
        return found

    def _texts(self) -> None:
        """`NAME="--a 1 --b"`: kept for where it is named, and read as an assignment all the same."""
        bare = self._program[1:] if self._program[0] in ("export", "local", "declare") else self._program
        found = [_TEXT.match(word) for word in bare]
        for text in found if all(found) else ():
            assert text is not None
            words = self._expanded(text[3].split())
            kept = [*self._lists.get(text[1], []), *words] if text[2] else words
            if len(kept) <= MAX_LIST:
                self._lists[text[1]] = kept

    def _add(self, text: str) -> None:
        self._word.append(text)
        self._in_word = True

    def _quoted(self, quote: str) -> None:
        self._in_word = True
        end = self._at + 1
        while end < len(self._text) and self._text[end] != quote:
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        inner = self._text[self._at + 1 : end]
        self._word.append(inner if quote == "'" else inner.replace("\\\n", "").replace('\\"', '"'))
        self._at = end + 1

    def _escaped(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "\n":
            self._end_word()
        elif following:
            self._add(following)
        self._at += 2

    def _substituted(self) -> None:
        depth, end = 0, self._at + 1
        while end < len(self._text):
            depth += {"(": 1, ")": -1}.get(self._text[end], 0)
            end += 1
            if depth == 0:
                break
        self._add(self._text[self._at : end])
        self._at = end

    def _here_document(self) -> None:
        self._end_word()
        self._at += 2
        while self._at < len(self._text) and self._text[self._at] in "- \t'\"":
            self._at += 1
        end = self._at
        while end < len(self._text) and (self._text[end].isalnum() or self._text[end] == "_"):
            end += 1
        if end > self._at:
            self._awaited.append(self._text[self._at : end])
        self._at = end + (self._text[end : end + 1] in ("'", '"'))

    def _line_end(self) -> int:
        end = self._text.find("\n", self._at)
        return len(self._text) if end < 0 else end

    def _read_documents(self) -> None:
        for mark in self._awaited:
            lines: list[str] = []
            while self._at < len(self._text):
                line = self._text[self._at : self._line_end()]
                self._at = self._line_end() + 1
                if line.strip() == mark:
                    break
                lines.append(line)
            program = self._script.programs[-1] if self._script.programs else []
            self._script.documents.append((" ".join(program), "\n".join(lines)))
        self._awaited = []

    def _end_word(self) -> None:
        if self._in_word:
            self._program.append("".join(self._word))
        self._word, self._in_word = [], False

    def _end_program(self) -> None:
        self._end_word()
        if self._open is not None:
            self._open, self._program = None, [*self._before, *self._program]
        if self._program:
            self._texts()
            self._script.programs.append(self._expanded(self._program))
        self._program = []
