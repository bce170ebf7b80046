"""Shell scripts as the programs that they run, each as its words. Nothing is expanded; reading is linear."""

from dataclasses import dataclass, field

MAX_CHARACTERS = 256 * 1024


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


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._word: list[str] = []
        self._in_word = False
        self._program: list[str] = []
        self._script = Script()
        self._awaited: list[str] = []

    def script(self) -> Script:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char in "'\"":
                self._quoted(char)
            elif char == "\\":
                self._escaped()
            elif char == "$" and text.startswith("$(", self._at):
                self._substituted()
            elif char == "#" and not self._in_word:
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif char == "<" and text.startswith("<<", self._at) and not text.startswith("<<<", self._at):
                self._here_document()
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
        return self._script

    def _add(self, text: str) -> None:
        self._word.append(text)
        self._in_word = True

    def _quoted(self, quote: str) -> None:
        self._in_word = True
        end = self._at + 1
        while end < len(self._text) and self._text[end] != quote:
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        inner = self._text[self._at + 1 : end]
        self._word.append(inner if quote == "'" or "\\" not in inner else inner.replace("\\\n", "").replace('\\"', '"'))
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

    def _read_documents(self) -> None:
        for mark in self._awaited:
            lines: list[str] = []
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                line = self._text[self._at : end if end >= 0 else len(self._text)]
                self._at = len(self._text) if end < 0 else end + 1
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
        if self._program:
            self._script.programs.append(self._program)
        self._program = []
