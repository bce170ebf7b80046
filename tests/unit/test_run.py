"""The counts that `make test` ends with."""

from pathlib import Path

import pytest

from tests import run
from tests.run import Outcome, outcome_of


@pytest.mark.parametrize(
    ("closing", "passed", "failed", "skipped"),
    [
        ("12 passed in 1.23s", 12, 0, 0),
        ("1 failed, 12 passed, 3 skipped in 61.20s (0:01:01)", 12, 1, 3),
        ("2 failed, 1 error in 0.50s", 0, 3, 0),
        ("1 passed, 2 errors in 0.50s", 1, 2, 0),
        ("=== 4 passed, 2 skipped, 7 deselected, 1 warning in 0.50s ===", 4, 0, 2),
        ("7 deselected in 0.10s", 0, 0, 0),
        ("no tests ran in 0.01s", 0, 0, 0),
        ("\x1b[32m\x1b[1m12 passed\x1b[0m\x1b[32m in 1.23s\x1b[0m", 12, 0, 0),
    ],
)
def test_the_closing_line_is_counted(closing: str, passed: int, failed: int, skipped: int) -> None:
    assert outcome_of(f"....\nFAILED a.py::b - 3 passed\n{closing}\n", 0) == Outcome(passed, failed, skipped, 0)


def test_durations_and_summaries_before_it_are_not_it() -> None:
    tail = "3 failed in 9.99s of something\nslowest durations\n0.02s call a.py::b\n5 passed in 1.00s\n"
    assert outcome_of(tail, 0).passed == 5


def test_a_run_that_ends_without_a_closing_line_counts_nothing_and_keeps_its_exit_status() -> None:
    assert outcome_of("Killed\n", 137) == Outcome(0, 0, 0, 137)


def test_each_line_is_shown_behind_the_name_of_its_run_and_the_last_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    found = run.pytest("fast", ("-q", "-p", "no:cacheprovider", str(tmp_path)), run.WHEN_IDLE)
    assert found == Outcome(1, 0, 0, 0)
    assert all(line.startswith("fast    | ") for line in capsys.readouterr().out.splitlines())
