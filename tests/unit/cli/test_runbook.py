"""`kubectl mfu runbook`: every name that a person meets leads to its page, without a network."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.cli.reasons import reasons
from mfu_operator.cli.runbook import runbook_command
from tests.cluster.images import copied_sources

ROOT = Path(__file__).parents[3]


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(runbook_command, arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("MfuNoLeader", "# The operator itself is not well"),
        ("InputStarved", "# InputStarved"),
        ("input-starved", "# InputStarved"),
        ("DataLoaderWorkers", "# InputStarved"),
        ("nothing-proposed", "# Nothing is proposed, and why"),
    ],
)
def test_an_alert_a_bottleneck_a_cause_and_a_page_lead_to_a_page(name: str, title: str) -> None:
    assert title in printed(name).splitlines()


def test_a_reason_is_explained_before_its_page_whatever_its_case() -> None:
    lines = printed("noseries").splitlines()
    assert lines[0] == "NoSeries"
    assert any(line.startswith("Remedy: ") for line in lines[:8])
    assert "# There are no usable readings of a job" in lines


def test_every_reason_and_alert_has_a_page() -> None:
    names = [*reasons().reasons, *reasons().alerts]
    assert [name for name in names if "## Check by hand" not in printed(name)] == []


def test_without_a_name_it_lists_the_pages() -> None:
    assert [line for line in printed().splitlines() if line.startswith("hung ")]


def test_an_unknown_name_is_refused() -> None:
    done = CliRunner().invoke(runbook_command, ["Nonsense"])
    assert done.exit_code == 2
    assert "no reason, alert, bottleneck, cause or page" in done.output


def test_the_image_is_built_with_the_pages() -> None:
    files = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    folders = {Path(pattern).parts[0] for patterns in files.values() for pattern in patterns}
    assert folders == {"runbooks"}
    assert folders <= set(copied_sources((ROOT / "operator" / "Dockerfile").read_text()))
