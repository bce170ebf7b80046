"""Configuration files as flat leaves, so that two versions of them can be compared by meaning.

A leaf is one scalar: the document it is in ("ConfigMap/gpt-small", or the file's own path), the dotted key, and the
value. YAML or JSON inside a ConfigMap's data is followed inside; so are command lines and `KEY=VALUE` texts.
"""

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents

MAX_LEAVES = 50_000
"""More leaves than this in one file is not configuration that a person wrote (or a YAML alias bomb)."""

_STRUCTURED = (".yaml", ".yml", ".json")
_SETTINGS = (".env", ".properties", ".ini", ".cfg", ".conf")
_NAMES = ("name", "key", "mountPath", "containerPort")
_COMMANDS = ("command", "args")


class NotStructuredError(ValueError):
    """A text that is not configuration this module can read."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a leaf stands. `inner` is the key inside a text that is itself configuration ("" elsewhere)."""

    document: str
    key: str
    inner: str = ""

    def __str__(self) -> str:
        where = " ".join(part for part in (self.document, self.key) if part)
        return f"{where}: {self.inner}" if self.inner else where

    @property
    def leaf(self) -> str:
        """The whole dotted key without the document."""
        return f"{self.key}: {self.inner}" if self.inner else self.key


Leaves = Mapping[Place, Any]


def leaves(path: str, text: str) -> Leaves:
    """The leaves of one file.

    Raises:
        NotStructuredError: it is of no known format, or broken, or absurdly large.
    """
    found: dict[Place, Any] = {}
    for document, key, value in _documents(path, text):
        for place, leaf in _expand(document, key, value):
            found[place] = leaf
            if len(found) > MAX_LEAVES:
                raise NotStructuredError(f"{path}: more than {MAX_LEAVES} values")
    return found


def same_program(before: str, after: str) -> bool:
    """Whether two Python texts are the same program: comments, layout and quotes apart."""
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _documents(path: str, text: str) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    if not path.endswith(_STRUCTURED):
        yield path, (), _parsed(path, text)
        return
    for document in _yaml(text):
        if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
            for item in document["items"]:
                yield _identity(path, item), (), item
        elif document is not None:
            yield _identity(path, document), (), document


def _yaml(text: str) -> list[Any]:
    try:
        return yaml_documents(text)
    except UnreadableText as error:
        raise NotStructuredError(str(error)) from error


def _identity(path: str, document: Any) -> str:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        return path
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{document['kind']}/{name}" if isinstance(name, str) else path


def _parsed(path: str, text: str) -> Any:
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith(_SETTINGS):
            return _settings(text)
    except (tomllib.TOMLDecodeError, configparser.Error, RecursionError) as error:
        raise NotStructuredError(str(error)) from error
    raise NotStructuredError(f"{path}: no format that is read by meaning")


def _settings(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=", ":"), strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    headed = text if re.match(r"\s*(?:[#;].*\n\s*)*\[", text) else f"[settings]\n{text}"
    try:
        parser.read_string(headed)
    except AttributeError as error:  # a name without a value that goes on in the next line
        raise NotStructuredError("no settings: a line goes on and has no value") from error
    return {section: dict(parser[section]) for section in parser.sections()}


def _expand(document: str, key: tuple[str, ...], value: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _expand(document, (*key, str(name)), inner)
        if not value:
            yield Place(document, ".".join(key)), {}
    elif isinstance(value, list):
        yield from _listed(document, key, value)
    else:
        yield from _scalar(document, key, value)


def _listed(document: str, key: tuple[str, ...], items: list[Any]) -> Iterator[tuple[Place, Any]]:
    if key and key[-1] in _COMMANDS and all(isinstance(item, str) for item in items):
        for flag, value in flags(items).items():
            yield Place(document, ".".join(key), flag), value
        return
    names = _names(items)
    for index, item in enumerate(items):
        part = f"[{names[index] if names else index}]"
        yield from _expand(document, (*key[:-1], key[-1] + part) if key else (part,), item)


def _names(items: list[Any]) -> list[str] | None:
    for field in _NAMES:
        names = [str(item[field]) for item in items if isinstance(item, dict) and field in item]
        if len(names) == len(items) == len(set(names)):
            return names
    return None


def _scalar(document: str, key: tuple[str, ...], value: Any) -> Iterator[tuple[Place, Any]]:
    where = ".".join(key)
    inside = _embedded(document, key, value) if isinstance(value, str) else None
    if inside is None:
        yield Place(document, where), value
        return
    for place, leaf in _expand("", (), inside):
        inner = f"{place.key}: {place.inner}" if place.inner else place.key
        yield Place(document, where, inner), leaf


def _embedded(document: str, key: tuple[str, ...], text: str) -> Any | None:
    """Configuration inside a ConfigMap's value, None where it is plain text."""
    if not document.startswith("ConfigMap/") or len(key) < 2 or key[0] != "data":
        return None
    name = ".".join(key[1:])
    try:
        if name.endswith((".toml", *_SETTINGS)):
            return _parsed(name, text)
        documents = _yaml(text) if "\n" in text or name.endswith(_STRUCTURED) or text[:1] in "{[" else []
    except NotStructuredError:
        return None
    if len(documents) == 1 and isinstance(documents[0], dict | list):
        return documents[0]
    return {str(index): inner for index, inner in enumerate(documents)} if len(documents) > 1 else None


def flags(words: list[str]) -> dict[str, Any]:
    """A command line as options and values: `--num-workers=4 --amp` is {"num-workers": "4", "amp": True}.

    `KEY=VALUE` words count as options too (Hydra overrides, env prefixes). A word with blanks is a shell's script and
    is split. What is not an option stays in order under "words".
    """
    split = [part for word in words for part in _shell_words(word)]
    found: dict[str, Any] = {}
    plain: list[str] = []
    index = 0
    while index < len(split):
        word = split[index]
        following = split[index + 1] if index + 1 < len(split) else None
        assigned = re.fullmatch(r"-{0,2}([A-Za-z_+][\w.+/-]*)=(.*)", word, re.DOTALL)
        if assigned:
            found[assigned[1]] = assigned[2]
        elif re.fullmatch(r"--?[A-Za-z][\w.-]*", word):
            takes = following is not None and not re.match(r"--?[A-Za-z]", following)
            found[word.lstrip("-")] = following if takes else True
            index += takes
        else:
            plain.append(word)
        index += 1
    if plain:
        found["words"] = json.dumps(plain, ensure_ascii=False)
    return found


def _shell_words(word: str) -> list[str]:
    if not re.search(r"\s", word):
        return [word]
    try:
        return shlex.split(word, comments=True)
    except ValueError:
        return word.split()
