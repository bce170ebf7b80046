"""Objects as leaves: one for each value, command lines and files inside ConfigMaps by meaning."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mfu_operator.gitops.rendered import commands, programs, shell
from mfu_operator.gitops.rendered.leaf import Leaf, comparable, decoded, hidden, quantity, shown
from mfu_operator.gitops.rendered.paths import child, item, item_names, last_key
from mfu_operator.gitops.rendered.reading import embedded
from mfu_operator.model.masking import masked

MAX_LEAVES = 100_000
"""Values of one workload; more is told as a bound, never as innocence."""

_QUANTITIES = ("limits", "requests", "hard", "max", "min", "default", "defaultRequest", "capacity")
_QUANTITY_KEYS = ("sizeLimit", "storage")
_COMMANDS = ("command", "args")
_REFERENCES = ("configMap", "configMapRef", "configMapKeyRef", "secretRef", "secretKeyRef", "secret")
_CONTAINERS = re.compile(r"(?:[cC]ontainers)\[([^\]]*)\]\Z")
_HASH = re.compile(r"-[bcdfghkmt2456789]{10}\Z")
"""The suffix that kustomize derives from a generated object's content."""


class TooManyLeaves(ValueError):
    """A workload of more than MAX_LEAVES values."""


def without_hash(name: str) -> str:
    """An object's name without the suffix of a generator."""
    return _HASH.sub("", name)


class Leaves:
    """Collects leaves of objects.

    Args:
        secret_key: keys the hashes of Secrets' values.
    """

    def __init__(self, secret_key: bytes) -> None:
        self._key = secret_key
        self.found: dict[tuple[str, str], Leaf] = {}

    def add(self, leaf: Leaf) -> None:
        """Keep one; the last of a key holds, as it does for programs that read options."""
        self.found[leaf.object, leaf.key] = leaf
        if len(self.found) > MAX_LEAVES:
            raise TooManyLeaves(f"{leaf.object} and what it refers to hold more than {MAX_LEAVES} values")

    def rename(self, told: str, prefix: str) -> None:
        """Give an object's variables the names that the containers see."""
        for place, leaf in list(self.found.items()):
            if leaf.object == told:
                name = prefix + leaf.name.removeprefix("data.")
                self.found[place] = replace(leaf, name=name)

    def read_by(self, told: str, container: str) -> None:
        """Note that an object is read by a container alone, or by others that train as little."""
        for place, leaf in list(self.found.items()):
            if leaf.object == told:
                self.found[place] = replace(leaf, container=container)

    def plain(self, told: str, value: Any, path: str = "", container: str = "") -> None:
        """All of a value of an object, containers' commands by meaning."""
        if isinstance(value, Mapping):
            named = _CONTAINERS.search(path)
            self._mapping(told, value, path, named[1] if named else container)
        elif isinstance(value, list):
            for name, each in zip(item_names(value), value, strict=True):
                self.plain(told, each, item(path, name), container)
        else:
            self._scalar(told, path, value, container)

    def _mapping(self, told: str, value: Mapping[str, Any], path: str, container: str) -> None:
        words = [part for part in _COMMANDS if _is_words(value.get(part))]
        if words:
            self._command(told, value, words, path, container)
        for key, inner in value.items():
            where = child(path, key)
            if key in words:
                continue
            if key == "entrypoint" and isinstance(inner, str):
                self._words(told, where, [commands.Word(inner, where, inner)], container)
            elif key == "runtimeEnvYAML" and isinstance(inner, str):
                self.file(told, where, "runtime_env.yaml", inner, container)
            elif key == "secretName" or (key == "name" and last_key(path) in _REFERENCES):
                self.add(Leaf(told, where, "reference", without_hash(str(inner)), where, inner))
            else:
                self.plain(told, inner, where, container)
        if not value and path:
            self.add(Leaf(told, path, path, "{}", path, "{}", container=container))

    def _scalar(self, told: str, path: str, value: Any, container: str) -> None:
        name = _name(path)
        key = last_key(path)
        parent = path.rpartition(".")[0] if not path.endswith('"]') else path[: path.rfind('["')]
        measured = last_key(parent) in _QUANTITIES or key in _QUANTITY_KEYS
        meant = quantity(value) if measured else comparable(value)
        if key == "image" and isinstance(value, str):
            name = "image"
        self.add(Leaf(told, path, name, meant, path, shown(name, value, self._key), container=container))

    def _command(self, told: str, value: Mapping[str, Any], parts: Sequence[str], path: str, container: str) -> None:
        words = [
            commands.Word(str(text), item(child(path, part), str(index)), str(text))
            for part in parts
            for index, text in enumerate(value[part])
        ]
        self._words(told, child(path, parts[-1]), words, container)

    def _words(self, told: str, path: str, words: list[commands.Word], container: str) -> None:
        for found in commands.read(words):
            key = f"{path} "
            if isinstance(found, commands.Document):
                self.file(told, found.word.field, found.name, found.text, container, f"{key}<{found.name} ")
                continue
            value = comparable(found.value)
            raw = shown(found.name, found.word.raw, self._key)
            if raw == found.word.raw:
                secret = shown(found.name, found.value, self._key)
                raw = raw if secret == found.value else secret
            self.add(Leaf(told, key + found.key, found.name, value, found.word.field, raw, found.words, "", container,
                          found.beside))  # fmt: skip

    def file(
        self, told: str, path: str, name: str, text: str, container: str = "", key: str = "", value: Any = None
    ) -> None:
        """A configuration file by meaning where it is one; else a script or program by what it says."""
        inside = embedded(name, text) if value is None else value
        start = key or path
        if inside is not None:
            for inner, leaf in _inner("", inside):
                said = f"{path}{inner}" if inner.startswith("[") else f"{path}.{inner}"
                self.add(
                    Leaf(told, f"{start}.{inner}", _name(inner), comparable(leaf), said,
                         shown(last_key(inner), leaf, self._key), file=name, container=container)
                )  # fmt: skip
            return
        raw = masked(text)
        if name.endswith(".py"):
            self._program(told, path, start, name, text, raw)
        elif shell.is_script(name, text):
            self._script(told, path, start, name, text, raw)
        else:
            single = "\n" not in text.strip()
            self.add(Leaf(told, start, _name(name) if single else "text", comparable(text.strip()), path,
                          shown(name, text, self._key), not single, name))  # fmt: skip

    def _program(self, told: str, path: str, key: str, name: str, text: str, raw: str) -> None:
        program = programs.read(text)
        if program is None:
            self.add(Leaf(told, key, "text", text, path, raw, True, name))
            return
        for constant, value in program.constants.items():
            meant = constant.partition("#")[0]
            self.add(Leaf(told, f"{key} {constant}", meant, comparable(value), path, raw, file=name))
        self.add(Leaf(told, f"{key} program", "text", program.rest, path, raw, True, name))

    def _script(self, told: str, path: str, key: str, name: str, text: str, raw: str) -> None:
        word = commands.Word(text + "\n", path, raw)
        for found in commands.read([commands.Word("sh", path, raw), word]):
            if isinstance(found, commands.Document):
                self.file(told, path, found.name, found.text, "", f"{key} <{found.name} ")
            else:
                self.add(Leaf(told, f"{key} {found.key}", found.name, comparable(found.value), path, raw,
                              found.words, name, beside=found.beside))  # fmt: skip
        if len(text) > shell.MAX_CHARACTERS:
            self.add(Leaf(told, key, "text", text, path, raw, True, name))

    def config_map(self, told: str, body: Mapping[str, Any], keys: Collection[str] | None) -> None:
        """A ConfigMap's entries; `keys` are those that the workload gets, None for all."""
        for part in ("data", "binaryData"):
            for name, text in _entries(body.get(part)):
                if keys is None or name in keys:
                    self._entry(told, child(part, name), name, text, part == "binaryData")

    def _entry(self, told: str, path: str, name: str, text: Any, binary: bool) -> None:
        if binary:
            self.add(Leaf(told, path, "text", str(text), path, hidden(str(text), self._key), True, name))
        else:
            self.file(told, path, name, str(text))

    def secret(self, told: str, body: Mapping[str, Any], keys: Collection[str] | None) -> None:
        """A Secret's entries as keyed hashes."""
        entries = {name: decoded(value) for name, value in _entries(body.get("data"))}
        entries |= {name: str(value) for name, value in _entries(body.get("stringData"))}
        for name, value in entries.items():
            if keys is None or name in keys:
                path = child("data", name)
                self.add(Leaf(told, path, f"secret.{name}", hidden(value, self._key), path, hidden(value, self._key)))


def _inner(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _inner(child(path, str(key)), inner)
    elif isinstance(value, list) and value:
        for name, inner in zip(item_names(value), value, strict=True):
            yield from _inner(item(path, name), inner)
    else:
        yield path, value


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(name), entry) for name, entry in value.items() if entry is not None)


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str | int | float) for word in value)


def _name(path: str) -> str:
    """What the table calls a field: an environment variable by its name, all else by its dotted path."""
    variable = re.search(r"\benv\[([^\]]+)\]\.value\Z", path)
    return variable[1] if variable else path.replace('["', ".").replace('"]', "")
