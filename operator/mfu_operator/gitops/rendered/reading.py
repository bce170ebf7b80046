"""Texts read by meaning, within bounds: YAML, JSON, TOML, dotenv and INI.

Every text comes from somebody's repository, so that size, depth, aliases and merge keys are bounded before anything is
built from them: 535 bytes of merge keys can describe a gigabyte.
"""

import configparser
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

MAX_CHARACTERS = 8 * 1024 * 1024
"""More than this in one text is not configuration that a person wrote, and no rendering of one workload either."""

MAX_VALUES = 300_000
"""Values of one text once its aliases and merge keys are followed."""

MAX_DEPTH = 100
"""Nesting of one value; the API server stops at 10,000 bytes of it, people at ten."""

_EMBEDDED_CHARACTERS = 1024 * 1024
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OF_TAGS = (LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""What PyYAML raises of a value that is not what its tag says: `!!int ''`, `!!bool x`."""

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+\Z")
_DOTENV = re.compile(r"(?:export )?([A-Za-z_][A-Za-z0-9_.]{0,200})=([^\n]*)\Z")


class UnreadableText(ValueError):
    """A text that does not read as what its name says, or lies beyond a bound; its words say which."""


MOST_OPEN = 1_000
"""Brackets that are open at once, or dashes at the head of one line: some ten thousand end the C parser's stack. Those
in quotes count too, because no text that a person wrote has so many."""

_BRACKET = re.compile(r"[\[\]{}]")
_STACKED = re.compile(rf"^[ \t]*(?:[-?:][ \t]+){{{MOST_OPEN}}}", re.MULTILINE)


def yaml_documents(text: str) -> list[Any]:
    """The documents of a YAML (or JSON) text; empty ones are left out.

    Raises:
        UnreadableText: it is not YAML, or lies beyond MAX_CHARACTERS, MAX_VALUES or MAX_DEPTH.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableText(f"{len(text)} characters, of at most {MAX_CHARACTERS}")
    if _ends_the_stack(text):
        raise UnreadableText(f"nested deeper than {MAX_DEPTH}")
    try:
        loader = _Loader(text)
        try:
            builder = _Builder(loader)
            found = []
            while loader.check_node():
                found.append(builder.build(loader.get_node(), 0))
        finally:
            loader.dispose()
    except UnreadableText:
        raise
    except (yaml.YAMLError, RecursionError, MemoryError, *_OF_TAGS) as error:
        raise UnreadableText(f"not YAML: {_first_line(error)}") from error
    return [document for document in found if document is not None]


def _ends_the_stack(text: str) -> bool:
    """Whether the parser, which descends in C, could end the process: it is looked at before the text is parsed."""
    if _STACKED.search(text):
        return True
    depth = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        if depth > MOST_OPEN:
            return True
    return False


class _Builder:
    """Values of composed nodes; every value that an alias or a merge repeats counts again."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._values = 0

    def build(self, node: yaml.Node, depth: int) -> Any:
        """The value of a node."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise UnreadableText(f"more than {MAX_VALUES} values once aliases and merge keys are followed")
        if depth > MAX_DEPTH:
            raise UnreadableText(f"nested deeper than {MAX_DEPTH}")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, depth + 1) for item in node.value]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for source in self._merged(value, depth):
                    for name, inner in source.items():
                        merged.setdefault(name, inner)
            else:
                own[str(key.value)] = self.build(value, depth + 1)
        return merged | own

    def _merged(self, node: yaml.Node, depth: int) -> Iterator[dict[str, Any]]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            built = self.build(source, depth + 1)
            if not isinstance(built, dict):
                raise UnreadableText("a merge key that does not name a mapping")
            yield built

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            value = self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError, TypeError, OverflowError):
            return str(node.value)
        if isinstance(value, str) and not node.style and _NUMBER.match(value):
            return float(value)
        plain = value is None or isinstance(value, str | int | float | bool)
        return value if plain else str(node.value)  # a date stays the text that a person wrote


def embedded(name: str, text: str) -> Any | None:
    """The value of a file inside a ConfigMap, where it is YAML, JSON, TOML, dotenv or INI; None where it is not.

    Args:
        name: the file's name, which decides where the text alone does not.
        text: its content.
    """
    if len(text) > _EMBEDDED_CHARACTERS:
        return None
    lower = name.lower()
    try:
        if lower.endswith(".toml"):
            return tomllib.loads(text)
        if lower.endswith((".ini", ".cfg", ".conf")):
            return _ini(text)
        if lower.endswith((".yaml", ".yml", ".json")):
            return _structured(text)
    except (UnreadableText, ValueError, configparser.Error, RecursionError, AttributeError):
        return None  # AttributeError is configparser's, of a name without a value that goes on in the next line
    if lower.endswith((".py", ".sh", ".bash", ".tpl", ".txt", ".md")):
        return None
    return _guessed(text, lower.endswith((".env", ".properties")))


def _guessed(text: str, named_dotenv: bool) -> Any | None:
    if "\n" in text.strip() or named_dotenv:
        assigned = dotenv(text)
        if assigned is not None:
            return assigned
    if "\n" not in text.strip() and text.strip()[:1] not in ("{", "["):
        return None
    if text.lstrip().startswith("#!"):
        return None
    try:
        return _structured(text)
    except UnreadableText:
        return None


def _structured(text: str) -> Any | None:
    documents = yaml_documents(text)
    if len(documents) == 1:
        return documents[0] if isinstance(documents[0], dict | list) else None
    return {str(index): document for index, document in enumerate(documents)} or None


def dotenv(text: str) -> dict[str, str] | None:
    """`KEY=VALUE` lines as a mapping; None where a line is something else."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        match = _DOTENV.match(bare)
        if not match:
            return None
        found[match[1]] = _unquoted(match[2].strip())
    return found or None


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _ini(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=", ":"), strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    first = next((line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"), "")
    parser.read_string(text if first.startswith("[") else f"[settings]\n{text}")
    return {section: dict(parser[section]) for section in parser.sections()}


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]
