"""Every form of the answer, over every trace in tests/data: JSON by the published schema, plain text, Markdown."""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from mfu_operator.cli.analyze import analyze_command
from tests.unit.trace.test_ranks import Rank, record

DATA = Path("tests/data")
FILES = sorted(
    str(path.relative_to(DATA))
    for folder in ("traces", "nsys_cpu")
    for path in (DATA / folder).rglob("*")
    if path.name.endswith((".json.gz", ".json", ".sqlite"))
)
REFUSED = {"traces/hta/mtia_inference.json.gz"}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(analyze_command, [str(one) for one in arguments])


@cache
def validator() -> jsonschema.Draft202012Validator:
    text = resources.files("mfu_operator.trace").joinpath("schema/analyze-v1.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def answer(*arguments: object) -> Any:
    result = run("-o", "json", *arguments)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    validator().validate(found)
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_trace_is_answered_by_the_schema_or_refused_in_one_line(name: str) -> None:
    if name in REFUSED:
        result = run("-o", "json", DATA / name)
        assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (3, "", 1)
        return
    found = answer("--baseline", DATA / name, DATA / name)
    assert found["difference"]["stepNs"] == 0
    assert found["diagnosis"]["bottleneck"] in (None, "Inconclusive")


@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_every_trace_can_be_shown_without_colour(name: str, form: str) -> None:
    result = run("-o", form, "--baseline", DATA / name, DATA / name)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert ("per step" in result.stdout) != ("of the recorded span" in result.stdout)


def test_the_bars_stand_over_each_other_in_one_scale(tmp_path: Path) -> None:
    resnet = DATA / "traces/kineto"
    said = run("--baseline", resnet / "resnet50_workers4_a.json.gz", resnet / "resnet50_workers0_a.json.gz").stdout
    now, before = (next(line for line in said.splitlines() if line.startswith(word)) for word in ("now ", "baseline "))
    assert said.index(now) < said.index(before)
    assert (now.split()[-2:], before.split()[-2:]) == (["177.2", "ms"], ["135.2", "ms"])
    assert "i" in now.split()[1]
    assert "i" not in before.split()[1]
    assert len(before.split()[1]) / len(now.split()[1]) == pytest.approx(135.2 / 177.2, abs=0.02)


def test_several_ranks_are_compared_in_their_mean(tmp_path: Path) -> None:
    folders = [tmp_path / "before", tmp_path / "now"]
    for folder, compute_ms in zip(folders, (10.0, 13.0), strict=True):
        folder.mkdir()
        record([Rank(0, compute_ms=compute_ms), Rank(1, compute_ms=compute_ms)], folder)
    said = run("--baseline", *folders).stdout
    assert "mean of 2 devices" in said
    assert "baseline" in said
    page = run("-o", "markdown", "--baseline", *folders).stdout
    assert "### Mean of 2 devices" in page
    assert "| compute | 10.00 | 13.00 | +3.00 |" in page


def test_the_difference_of_several_ranks_is_the_mean_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / "before", tmp_path / "now"]
    for folder, slower in zip(folders, (0.0, 4.0), strict=True):
        folder.mkdir()
        record([Rank(0), Rank(1, compute_ms=10 + slower)], folder)
    before, now = ([one["step"] for one in answer(folder)["devices"]] for folder in folders)
    change = answer("--baseline", *folders)["difference"]
    own = [after["meanNs"] - earlier["meanNs"] for after, earlier in zip(now, before, strict=True)]
    assert change["stepNs"] == pytest.approx(sum(own) / len(own))
    assert sum(change["accountNs"].values()) == change["stepNs"]
