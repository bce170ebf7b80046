"""The table of what a copy changes and is refused for (`copied.yaml`), for a platform team to extend."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_SAVE_VARIABLE = re.compile(r"(CHECKPOINT|CKPT|SAVE|OUTPUT)_?(DIR|PATH|FOLDER|URI|URL|BUCKET)?$")
_REMOTE = re.compile(
    r"^(s3|s3a|s3n|gs|gcs|abfss?|adl|azure|az|wasbs?|hdfs|oss|obs|cos|cosn|tos|r2|swift|ssh|sftp|ftp|lakefs|dbfs"
    r"|(postgres|postgresql|mysql|mariadb|mongodb|mssql|oracle)(\+\w+)?|rediss?|amqps?|kafka|nats)://"
)
"""Storages, and databases and queues: a study that trials are written to, work that is taken from the live run."""


@dataclass(frozen=True, slots=True)
class Table:
    """`copied.yaml` as it is read: its comments say what each part is. Of a tracker: the value, and whose it is."""

    trackers: Mapping[str, tuple[str, str]]
    identity: frozenset[str]
    switched_off: frozenset[str]
    rendezvous: Mapping[str, str]
    saves: frozenset[str]
    reads: frozenset[str]
    resumes: frozenset[str]
    uploads: Mapping[str, frozenset[str]]
    credentials: frozenset[str]
    inputs: tuple[str, ...]

    def is_saved_to(self, option: str) -> bool:
        """Whether an option's or a key's value is where a run writes."""
        plain = _plain(option).lower()
        return plain not in self.reads and not self.saves.isdisjoint((plain, plain.rpartition(".")[2]))

    def is_save_variable(self, name: str) -> bool:
        """Whether a variable of this name says where a run writes."""
        return _SAVE_VARIABLE.search(name) is not None or self.is_saved_to(name)

    def is_switched_off(self, name: str) -> bool:
        """Whether a variable belongs to a tracker that every copy switches off by another one."""
        return name in self.switched_off

    def resumes_from(self, option: str) -> bool:
        """Whether an option continues the live run's state, or publishes what was trained."""
        return _plain(option).rpartition(".")[2] in self.resumes

    def is_read(self, name: str) -> bool:
        """Whether what an option or a variable of this name addresses is only read."""
        plain = _plain(name).lower()
        return any(word in plain for word in self.inputs)


def is_remote(value: str) -> bool:
    """Whether a value addresses a storage that outlives the pod."""
    return _REMOTE.match(value) is not None


def uploads_in(command: Sequence[str]) -> bool:
    """Whether a simple command writes to a storage or to another machine."""
    program = command[0].rpartition("/")[2] if command else ""
    writes = table().uploads.get(program, frozenset())
    if not writes or not ("*" in writes or writes & _said(command[1:])):
        return False
    plain = [word for word in command[1:] if not word.startswith("-")]
    fetches = {"cp", "copy", "copyto", "sync", "mv", "rsync", "mirror"} & {program, *plain} or program == "scp"
    return not fetches or not plain or is_remote(plain[-1]) or ":" in plain[-1]


def _said(words: Sequence[str]) -> set[str]:
    """The words, options without their values: --post-data=x is --post-data, -XPOST is -X."""
    options = [word for word in words if word.startswith("-")]
    return {*words, *(word.partition("=")[0] for word in options), *(word[:2] for word in options)}


@cache
def table() -> Table:
    """The table."""
    text = files("mfu_operator.profiling.plan").joinpath("copied.yaml").read_text(encoding="utf-8")
    read: Mapping[str, Any] = yaml.safe_load(text)
    return Table(
        trackers={name: (row["value"], row["of"]) for name, row in read["trackers"].items()},
        identity=frozenset(read["identity"]),
        switched_off=frozenset(read["switched_off"]),
        rendezvous=read["rendezvous"],
        saves=frozenset(read["saves"]),
        reads=frozenset(read["reads"]),
        resumes=frozenset(read["resumes"]),
        uploads={name: frozenset(words) for name, words in read["uploads"].items()},
        credentials=frozenset(read["credentials"]),
        inputs=tuple(read["inputs"]),
    )


def _plain(option: str) -> str:
    return option.lstrip("-+").replace("-", "_")
