import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from mfu_operator.cli.analyze import analyze_command
from mfu_operator.errors import Unreadable
from mfu_operator.profiling.nsys import NO_STEP
from mfu_operator.trace import termination_message as compact
from tests.support.synthetic.host_loop import HostLoop


def run(*arguments: object) -> Result:
    return CliRunner().invoke(analyze_command, [str(one) for one in arguments])


def schema() -> Any:
    text = resources.files("mfu_operator.trace").joinpath("schema/analyze-v1.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return HostLoop().trace().write(tmp_path / "now.sqlite")


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return HostLoop(data_ms=60, inline=True, loader_threads=0).trace().write(tmp_path / "slow.sqlite")


def test_json_conforms_to_the_published_schema(trace: Path, slow: Path) -> None:
    for arguments in ([trace], ["--baseline", trace, slow]):
        result = run("-o", "json", *arguments)
        assert result.exit_code == 0
        jsonschema.validate(json.loads(result.stdout), schema())


def test_text_tells_the_story_in_a_pipe_without_colour(trace: Path, slow: Path) -> None:
    said = run("--baseline", trace, slow).stdout
    assert "InputStarved / DataLoaderWorkers" in said
    assert "waiting for input" in said
    assert "\x1b[" not in said


def test_markdown_compares_side_by_side(trace: Path, slow: Path) -> None:
    said = run("-o", "markdown", "--baseline", trace, slow).stdout
    assert "| waiting for input | 1.00 | 60.00 | +59.00 |" in said


def test_html_is_one_document(trace: Path, slow: Path) -> None:
    said = run("-o", "html", "--baseline", trace, slow).stdout
    assert said.startswith("<!DOCTYPE html>")
    assert said.count("</html>") == 1


def test_a_profiling_pod_leaves_the_compact_account(trace: Path, tmp_path: Path) -> None:
    message = tmp_path / "termination-log"
    result = run("-o", "account", "--termination-message", message, trace)
    assert result.exit_code == 0
    assert compact.decode(message.read_text()).account_from == "nvtx"
    assert compact.decode(result.stdout).count == 6


def damaged(folder: Path) -> Sequence[Path]:
    empty = folder / "empty"
    empty.mkdir()
    (folder / "text").write_text("hello")
    (folder / "cut").write_bytes(b"SQLite format 3\x00 and nothing of it")
    return (empty, folder / "text", folder / "cut", folder / "absent")


def test_a_trace_above_the_limit_is_refused_in_one_line_and_code_3(trace: Path, tmp_path: Path) -> None:
    kineto = tmp_path / "rank0.json"
    kineto.write_text(json.dumps({"traceEvents": [{"ph": "i", "name": f"mark {number}"} for number in range(40)]}))
    for path in (trace, kineto):
        result = run("--max-events", 39, path)
        assert result.exit_code == 3
        assert result.stdout == ""
        assert result.stderr.splitlines() == [
            f"kubectl-mfu: {path}: more than 39 events; record fewer steps, or raise --max-events"
        ]


def test_a_trace_at_the_limit_is_read(tmp_path: Path) -> None:
    rows = [{"ph": "X", "cat": "user_annotation", "name": "step", "ts": 20 * number, "dur": 9} for number in range(40)]
    kineto = tmp_path / "rank0.json"
    kineto.write_text(json.dumps({"traceEvents": rows}))
    assert run("--max-events", 40, kineto).exit_code == 0


@pytest.mark.parametrize("index", range(4))
def test_what_cannot_be_read_is_refused_in_one_line_and_code_3(tmp_path: Path, index: int) -> None:
    path = damaged(tmp_path)[index]
    message = tmp_path / "termination-log"
    result = run("--termination-message", message, path)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert str(path) in result.stderr
    assert set(json.loads(message.read_text())["error"]) == {"reason", "message"}


def test_the_workloads_last_words_travel_without_its_secrets(tmp_path: Path) -> None:
    message, log = tmp_path / "termination-log", tmp_path / "log"
    log.write_text("DB_PASSWORD=hunter2\nlogged in to postgres://bot:hunter2@db/runs\nCUDA out of memory\n")
    run("--termination-message", message, "--recorder-log", log, tmp_path / "absent.sqlite")
    assert "CUDA out of memory" in message.read_text()
    assert "hunter2" not in message.read_text()


def test_a_copy_that_was_ended_early_says_that_it_came_to_no_step(tmp_path: Path) -> None:
    message, log = tmp_path / "termination-log", tmp_path / "log"
    log.write_text(f"connecting to redis\n{NO_STEP}\n")
    run("--termination-message", message, "--recorder-log", log, tmp_path / "absent.sqlite")
    with pytest.raises(Unreadable) as raised:
        compact.decode(message.read_text())
    assert raised.value.reason == "NoStepSeen"
    assert "connecting to redis" in raised.value.message


def test_wrong_usage_is_code_2() -> None:
    assert run().exit_code == 2
    assert run("-o", "xml", "x").exit_code == 2


def test_the_trace_is_not_touched_and_nothing_is_written_beside_it(trace: Path) -> None:
    before = (trace.read_bytes(), sorted(trace.parent.iterdir()))
    run(trace)
    assert (trace.read_bytes(), sorted(trace.parent.iterdir())) == before


def test_nothing_of_the_environment_reaches_the_output(tmp_path: Path) -> None:
    file = HostLoop().trace()
    file.environment(["SECRET_TOKEN=hunter2", "RANK=3", "WORLD_SIZE=8"])
    file.string("ANOTHER_SECRET=hunter2")
    path = file.write(tmp_path / "t")
    for form in ("text", "json", "markdown", "account"):
        assert "hunter2" not in run("-o", form, path).output
    assert json.loads(run("-o", "json", path).stdout)["traces"][0]["rank"] == 3


@pytest.mark.parametrize(
    "name",
    [
        "hta/with_gpu_user_annotation.json.gz",
        "hta/cpu_only.json.gz",
        "tracelens/resnet_act_checkpoint_mi300_rank0.json.gz",
        "nsys/h100_2gpu_1s.sqlite",
    ],
)
def test_real_traces_are_answered_in_the_published_schema(name: str) -> None:
    result = run("-o", "json", Path("tests/data/traces") / name)
    assert result.exit_code == 0
    jsonschema.validate(json.loads(result.stdout), schema())


def test_launches_without_any_device_activity_are_inconclusive_and_say_what_is_missing(tmp_path: Path) -> None:
    file = HostLoop().trace("2025.3.1.90")
    file.call("cudaLaunchKernel_v7000", 5_000, 9_000)
    answer = json.loads(run("-o", "json", file.write(tmp_path / "t")).stdout)
    assert answer["diagnosis"]["bottleneck"] == "Inconclusive"
    assert answer["devices"][0]["step"]["accountNs"]["compute"] == 0
    assert "privilege" in answer["diagnosis"]["advice"][0]
    assert any("no device activity" in warning for warning in answer["traces"][0]["warnings"])


def test_too_few_steps_are_warned_of(tmp_path: Path) -> None:
    answer = json.loads(run("-o", "json", HostLoop(steps=3).trace().write(tmp_path / "t")).stdout)
    assert answer["devices"][0]["step"]["count"] == 1
    assert any("only 3 steps recorded" in warning for warning in answer["traces"][0]["warnings"])
