"""Jobs on ports of their own, and the table at the end."""

import socket
from collections.abc import Iterator

import pytest

from tests.live.environment import python

ROWS: list[tuple[str, str, str, str]] = []
RANKS_AT_MOST = 8


class Table:
    """What was seen: fault × way × ranks → result."""

    def row(self, fault: str, way: str, ranks: int, result: str) -> None:
        ROWS.append((fault, way, str(ranks), result))


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture(scope="session", autouse=True)
def torch() -> None:
    """Install it before any test's time begins."""
    python()


@pytest.fixture
def port() -> Iterator[int]:
    """The first of a row of ports that are free now: one before it for the rendezvous, and one for each rank."""
    for first in range(21001, 29000, RANKS_AT_MOST + 2):
        if all(map(_free, range(first - 1, first + RANKS_AT_MOST))):
            yield first
            return
    raise AssertionError("no free ports")


def _free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.write_sep("=", "captures of real jobs")
        terminalreporter.write_line(f"{'fault':<44}{'way':<28}{'ranks':>5}  result")
        for fault, way, ranks, result in ROWS:
            terminalreporter.write_line(f"{fault:<44}{way:<28}{ranks:>5}  {result}")
