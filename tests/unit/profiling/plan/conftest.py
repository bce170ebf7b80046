"""The table of published manifests stands at the end of the log of the tests that plan them."""

import pytest

from tests.unit.profiling.plan.published import table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print project × kind × way where the manifests were planned."""
    ran = (report.nodeid for key in ("passed", "failed") for report in terminalreporter.getreports(key))
    if any("test_published" in each for each in ran):
        terminalreporter.section("plans of published manifests")
        for line in table():
            terminalreporter.write_line(line)
