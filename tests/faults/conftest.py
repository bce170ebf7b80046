"""What the suites of faults share: the table at the end."""

from pathlib import Path

import pytest

from tests.faults.table import Row, Suite, lines

HERE = Path(__file__).parent


class _Row:
    def __init__(self, node: pytest.Item) -> None:
        self._node = node

    def note(self, **figures: float) -> None:
        self._node.user_properties += figures.items()


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    return _Row(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    suites: dict[str, Suite] = {}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if not isinstance(report, pytest.TestReport) or HERE.name not in Path(report.nodeid).parts[:2]:
                continue
            suite = suites.setdefault(Path(report.nodeid.partition("::")[0]).stem.removeprefix("test_"), Suite())
            suite.seconds += report.duration
            if report.when != "call":
                suite.failed += outcome == "error"
                continue
            suite.passed += outcome == "passed"
            suite.failed += outcome == "failed"
            suite.expected += outcome == "xfailed"
            suite.add(report.user_properties)
    if suites:
        terminalreporter.write_sep("=", "faults")
        for line in lines(suites):
            terminalreporter.write_line(line)
