"""The tour is what the operator's own code says about its data, and README.md shows the tour."""

import gzip
import json
import socket
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.cli.main import cli
from mfu_operator.cli.tour import stages
from mfu_operator.cli.tour.stages import DATA, Tour, toured
from mfu_operator.errors import AskPerson, Unreadable
from mfu_operator.trace.analyze import analyze
from tests.docs import tour as page
from tests.docs import tour_data

MOST_BYTES = 600_000
"""Of all data: they travel with every installation of the command."""


@pytest.fixture(scope="module")
def shown() -> Tour:
    return toured()


def changed(monkeypatch: pytest.MonkeyPatch, folder: Path, before: str, after: str) -> None:
    """The tour's history with another text in it."""
    text = stages.HISTORY.read_text()
    assert before in text
    (folder / "history.txt").write_text(text.replace(before, after))
    monkeypatch.setattr(stages, "HISTORY", folder / "history.txt")


def test_it_reverts_the_commit_that_took_the_workers_away(shown: Tour) -> None:
    chosen = shown.found.ranking.chosen
    assert chosen is not None
    assert (chosen.commit.author, chosen.commit.sha[:7] in shown.proposal.title) == ("Sam Okafor", True)
    assert [each.event for each in shown.story.replayed.said] == ["Regressed", "Confirmed"]
    assert shown.explained.diagnosis.cause == "DataLoaderWorkers"
    assert shown.proposal.revert_sha == chosen.commit.sha
    assert "slow since 09:00" in shown.first_sight, "the course of the signal around the onset"


def test_another_history_gives_another_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    changed(monkeypatch, tmp_path, "Sam Okafor", "Kim Duarte")
    chosen = toured().found.ranking.chosen
    assert chosen is not None
    assert chosen.commit.author == "Kim Duarte"


def test_a_history_without_a_cause_has_no_pull_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    changed(monkeypatch, tmp_path, "num_workers: 0", "num_workers: 4")
    with pytest.raises(AskPerson):
        toured()


def test_it_needs_no_network_and_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the tour asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    begun_s = time.process_time()
    done = CliRunner().invoke(cli, ["tour"])
    assert done.exit_code == 0, done.output
    assert "4/4" in done.output
    assert time.process_time() - begun_s < 10


def test_its_pull_request_can_be_had_alone(shown: Tour) -> None:
    done = CliRunner().invoke(cli, ["tour", "-o", "markdown"])
    assert done.output == shown.proposal.body


def test_without_git_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unreadable, match="install git"):
        toured()


@pytest.mark.parametrize("name", tour_data.TRACES)
def test_a_packaged_trace_is_what_is_left_of_the_published_one(name: str) -> None:
    made = json.loads(gzip.decompress(tour_data.trace(tour_data.TRACES[name])))
    assert json.loads(gzip.decompress((DATA / name).read_bytes())) == made, "python -m tests.docs.tour_data writes it"


def test_what_was_left_out_changes_nothing_of_what_is_said(shown: Tour) -> None:
    slow, fast = (tour_data.PUBLISHED / tour_data.TRACES[name] for name in ("slow.json.gz", "fast.json.gz"))
    whole = analyze([slow], [fast])
    assert whole.diagnosis == shown.explained.diagnosis
    rounding_ns = 10_000  # published times are microseconds since 1970 as floating-point numbers
    packaged = shown.explained.devices[0].step.account_ns
    assert whole.devices[0].step.account_ns == pytest.approx(packaged, abs=rounding_ns)


def test_the_series_is_of_those_traces_steps() -> None:
    assert stages.SERIES.read_text() == tour_data.series(), "python -m tests.docs.tour_data writes it"


def test_the_data_are_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < MOST_BYTES


def test_the_picture_is_the_tour_as_it_is_now(shown: Tour) -> None:
    assert page.PICTURE.read_text() == page.picture(shown), "python -m tests.docs.tour writes it"
    assert "url(" not in page.PICTURE.read_text().replace("url(#", ""), "it fetches nothing"


def test_the_readme_quotes_the_pull_request_as_it_is_now_and_shows_the_picture(shown: Tour) -> None:
    readme = page.README.read_text()
    assert readme == page.with_request(readme, shown), "python -m tests.docs.tour writes it"
    assert f"]({page.PICTURE.relative_to(page.ROOT)})" in readme
