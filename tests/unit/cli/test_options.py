"""Every command that people read takes the same words, or says why it does not."""

import json
import re
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.cli.main import cli
from tests.support.loopback import running
from tests.support.suspect_story import Story, config_map, job
from tests.unit.cli.replaying import LOSS_AND_BACK, written
from tests.unit.cli.test_completion import values
from tests.unit.cli.test_doctor import NoSeries

EVERY = ("json", "yaml", "markdown", "html")
OF_CLUSTER = ("--namespace", "--context", "--kubeconfig")
TAKES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "status": (("text", "wide", *EVERY), ("--watch", *OF_CLUSTER)),
    "explain": (("text", *EVERY), ("--watch", *OF_CLUSTER)),
    "timeline": (("text", "wide", *EVERY), ("--watch", *OF_CLUSTER)),
    "report": (EVERY, ("--watch", "--html", *OF_CLUSTER)),
    "doctor": (("text", *EVERY), ("--watch", *OF_CLUSTER)),
    "capture": (("text", *EVERY), OF_CLUSTER),
    "replay": (("text", *EVERY, "svg", "png"), ("--context", "--kubeconfig")),
    "suspects": (("text", *EVERY), ()),
}
"""Formats and options of each word."""

REFUSES = {
    ("capture", "--watch"): "kubectl logs -f follows its Job",
    ("replay", "--watch"): "kubectl mfu status NAME -w watches the present",
    ("replay", "--namespace"): "--baseline names",
    ("suspects", "--watch"): "revisions, which do not change",
    ("suspects", "--namespace"): "--workload KIND/NAMESPACE/NAME",
    ("suspects", "--context"): "it asks no cluster",
    ("suspects", "--kubeconfig"): "it asks no cluster",
}
"""What a word that does not take an option says."""


def options(word: str) -> dict[str, click.Option]:
    command = cli.get_command(click.Context(cli), word)
    assert command is not None
    found = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    return {name: each for each in found for name in each.opts}


@pytest.mark.parametrize("word", TAKES)
def test_a_word_takes_the_formats_and_options_that_all_have(word: str) -> None:
    formats, names = TAKES[word]
    found = options(word)
    output = found["--output"]
    assert found["-o"] is output
    assert isinstance(output.type, click.Choice) and sorted(output.type.choices) == sorted(formats)
    assert set(names) <= found.keys()
    assert {name for name in (*OF_CLUSTER, "--watch") if name not in names and (word, name) not in REFUSES} == set()


@pytest.mark.parametrize("word", TAKES)
def test_a_word_s_formats_and_options_are_completed(word: str) -> None:
    formats, names = TAKES[word]
    assert sorted(values(word, "-o", "")) == sorted(formats)
    assert set(names) <= set(values(word, "--"))
    assert word in values(word[:3])


@pytest.mark.parametrize(("word", "option"), REFUSES, ids=" ".join)
def test_what_a_word_does_not_take_is_refused_with_the_reason(word: str, option: str) -> None:
    value = () if option == "--watch" else ("x",)
    result = CliRunner().invoke(cli, [word, option, *value])
    assert result.exit_code == 2
    assert REFUSES[word, option] in " ".join(result.output.split())
    assert option not in values(word, "--")


@pytest.mark.parametrize("word", [word for word in TAKES if "wide" not in TAKES[word][0]])
def test_a_format_that_a_word_does_not_have_is_refused_with_those_that_it_has(word: str) -> None:
    result = CliRunner().invoke(cli, [word, "-o", "wide"])
    assert result.exit_code == 2
    assert "'wide' is not one of" in result.output and "'html'" in result.output


def said(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def is_a_page(text: str) -> bool:
    return text.startswith("<!doctype html>") and "<script" not in text and not re.search(r" (src|href)=", text)


def test_a_plan_has_every_format(tmp_path: Path) -> None:
    source = tmp_path / "job.yaml"
    source.write_text(job())
    plan = partial(said, "capture", "-f", source, "--dry-run", "-o")
    assert yaml.safe_load(plan("yaml")) == json.loads(plan("json"))
    assert plan("markdown").startswith("# How to capture gpt\n\n    workload   Job/gpt")
    assert is_a_page(plan("html")) and "workload   Job/gpt" in plan("html")


def test_a_replay_has_every_format_and_its_page_the_picture(manifest: Path, tmp_path: Path) -> None:
    replay = partial(said, "replay", written(tmp_path, LOSS_AND_BACK), "--baseline", manifest, "-o")
    told = replay("markdown")
    assert told.startswith("# Replay of `gpt`\n\n- 300 readings over")
    events = [each["event"] for each in json.loads(replay("json"))["events"]]
    rows = [line.split(" | ")[1] for line in told.splitlines() if line.startswith("| ") and "when" not in line][1:]
    assert rows == events
    page = replay("html")
    assert is_a_page(page) and "<svg " in page and ">Regressed<" in page


def test_suspects_have_every_format(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"app/job.yaml": job(), "app/config.yaml": config_map("loader:\n  num_workers: 8\n")})
    story.replace("Fewer <b>workers</b>", "app/config.yaml", "num_workers: 8", "num_workers: 0")
    asked = partial(
        said, "suspects", "--repo", story.repo, "--good", story.shas["Good"], "--bad", "HEAD", "--path", "app",
        "--workload", "Job/gpt", "--cause", "DataLoaderWorkers", "-o",
    )  # fmt: skip
    told = asked("markdown")
    assert "`Fewer <b>workers</b>`: it did it" in told
    assert "loader.num_workers`: `8` → `0`" in told
    assert "\n    +      num_workers: 8" in told
    page = asked("html")
    assert is_a_page(page) and "Fewer &lt;b&gt;workers" in page


def test_an_examination_has_every_format(manifest: Path) -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), NoSeries)) as port:
        asked = partial(said, "doctor", "--baseline", manifest, "--prometheus", f"http://127.0.0.1:{port}", "-o")
        told, page, kinds = asked("markdown"), asked("html"), json.loads(asked("json"))["findings"]
    assert [line.split(" | ")[1] for line in told.splitlines() if line.startswith(("| –", "| ok", "| **BAD"))] == [
        each["kind"] for each in kinds
    ]
    assert is_a_page(page) and "verdict is NoData until one of" in page
