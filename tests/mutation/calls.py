"""Which functions each test calls: what decides the tests that a mutant is shown to."""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import pytest

_UNNAMED = re.compile(r"\.?<(lambda|listcomp|setcomp|dictcomp|genexpr)>.*|<locals>\.|\.<locals>$")


@dataclass(frozen=True)
class Called:
    """One test that passed: how long it ran, and what it called, as `path:qualified name`."""

    test: str
    seconds: float
    functions: list[str]


class Recorder:
    """A pytest plugin that writes a `Called` for each test that passes, one a line, into its file's record."""

    def __init__(self, package: Path, records: Path) -> None:
        self._prefix = f"{package}/"
        self._records = records
        self._called: set[tuple[str, str]] = set()

    def _see(self, frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self._prefix):
            self._called.add((code.co_filename, code.co_qualname))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._called.clear()
        threading.settrace(self._see)
        sys.settrace(self._see)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            functions = {f"{path.removeprefix(self._prefix)}:{_UNNAMED.sub('', name)}" for path, name in self._called}
            called = Called(report.nodeid, report.duration, sorted(functions))
            with record_of(self._records, report.nodeid.split("::")[0]).open("a") as file:
                file.write(json.dumps(asdict(called)) + "\n")


def record_of(records: Path, test_file: str) -> Path:
    """Where the calls of a file of tests are recorded; another file when its content changes."""
    content = f"{test_file}\n".encode() + Path(test_file).read_bytes()
    return records / f"{hashlib.sha256(content).hexdigest()}.jsonl"


def read(record: Path) -> list[Called]:
    """What a `Recorder` wrote; nothing where no test of the file passed."""
    return [Called(**json.loads(line)) for line in record.read_text().splitlines()] if record.exists() else []


class Chosen:
    """A pytest plugin that runs the named tests only, in the order given."""

    def __init__(self, tests: list[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((each for each in items if each.nodeid in self._order), key=lambda e: self._order[e.nodeid])
