import json
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.api import status as codec
from mfu_operator.cli.manifest import read_manifest, spec_of
from mfu_operator.cli.replay.command import replay_command
from mfu_operator.errors import MfuError, Unreadable
from mfu_operator.model.baseline import Baseline, Level, Provenance, Spread
from mfu_operator.model.incident import Status
from tests.support.loopback import running
from tests.unit.cli.replaying import LOSS_AND_BACK, MANIFEST, ran, written

SAMPLES = Path(__file__).parents[3] / "crds" / "samples"


def test_the_events_of_a_loss_are_told_with_time_onset_and_drop(tmp_path: Path, manifest: Path) -> None:
    told = json.loads(ran(written(tmp_path, LOSS_AND_BACK), "--baseline", manifest, "-o", "json"))
    assert told["schemaVersion"] == 1
    assert [event["event"] for event in told["events"]] == ["Regressed", "Confirmed", "Recovered"]
    assert told["events"][0]["onset"] == pytest.approx(3600, abs=60)
    assert told["events"][0]["drop"] == pytest.approx(0.1)
    assert told["events"][2]["onset"] == told["events"][0]["onset"]
    assert (told["summary"]["regressed"], told["summary"]["verdict"]) == (1, "Healthy")


@pytest.mark.parametrize("losses", [LOSS_AND_BACK, [0.0] * 60 + [-99.0] * 60, [0.0], []])
def test_the_json_conforms_to_the_published_schema(tmp_path: Path, manifest: Path, losses: list[float]) -> None:
    text = resources.files("mfu_operator.detect").joinpath("schema/replay-v1.schema.json").read_text(encoding="utf-8")
    told = json.loads(ran(written(tmp_path, losses), "--baseline", manifest, "-o", "json"))
    jsonschema.Draft202012Validator(json.loads(text)).validate(told)


def test_a_series_that_switches_its_unit_is_told_in_the_summary_and_is_no_event(tmp_path: Path, manifest: Path) -> None:
    told = json.loads(ran(written(tmp_path, [0.0] * 60 + [-99.0] * 60), "--baseline", manifest, "-o", "json"))
    assert told["events"] == []
    assert "another unit" in told["summary"]["notComparable"][0]["message"]


def test_a_slow_start_of_the_very_series_that_the_level_is_of_is_its_start(tmp_path: Path, manifest: Path) -> None:
    path = written(tmp_path, [0.2] * 60 + [0.0] * 900)
    told = json.loads(ran(path, "--baseline", manifest, "--record", "2h", "-o", "json"))
    assert told["events"] == []
    assert [event["event"] for event in json.loads(ran(path, "--baseline", manifest, "-o", "json"))["events"]] == [
        "Regressed",
        "Recovered",
    ]


def test_times_are_told_as_the_series_writes_them(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "dated.csv"
    rows = [f"2026-01-01T{index // 60:02}:{index % 60:02}:00Z,{0.46 if index < 60 else 0.4}" for index in range(120)]
    path.write_text("time,value\n" + "\n".join(rows))
    told = json.loads(ran(path, "--baseline", manifest, "-o", "json"))
    assert told["events"][0]["onset"].startswith("2026-01-01T00:59")


def test_step_time_is_lower_is_better(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("time,value\n" + "\n".join(f"{30 * i},{2.0 if i < 60 else 2.5}" for i in range(120)))
    told = json.loads(ran(path, "--baseline", manifest, "--signal", "step-time", "-o", "json"))
    assert told["events"][0]["drop"] == pytest.approx(0.2)


def test_the_level_can_be_taken_from_the_first_hours(tmp_path: Path, manifest: Path) -> None:
    path = written(tmp_path, [0.5] * 600 + [0.55] * 300)
    told = json.loads(ran(path, "--baseline", manifest, "--record", "3h", "-o", "json"))
    assert told["summary"]["provenance"] == "Recorded"
    assert told["summary"]["baseline"] == pytest.approx(0.23)
    assert [event["event"] for event in told["events"]] == ["Regressed", "Confirmed"]


def test_the_text_says_of_which_part_of_the_series_the_level_is(tmp_path: Path, manifest: Path) -> None:
    """A third of what there is where that is shorter than what was asked for; later where the beginning gives none."""
    path = written(tmp_path, [0.0] * 720)
    assert "baseline MFU 0.460 (recorded from 10m00s to 2h09m30s), " in ran(
        path, "--baseline", manifest, "--record", "9h"
    )
    drifting = written(tmp_path, [0.06 * max(0.0, 1 - index / 120) for index in range(720)])
    told = json.loads(ran(drifting, "--baseline", manifest, "--record", "1h", "-o", "json"))["summary"]
    assert told["recorded"]["until"] > 5000
    assert told["recordingProblem"].startswith(
        "the first 60 min give no level, so it was recorded later: the run is not "
    )
    never = written(tmp_path, [0.0003 * index for index in range(720)])
    told = json.loads(ran(never, "--baseline", manifest, "--record", "2h", "-o", "json"))["summary"]
    assert told["recordingProblem"].startswith("no part of the series gives a level, ")


@pytest.mark.parametrize("option", ["--record", "--since"])
@pytest.mark.parametrize("span", ["0h", "abc", "3"])
def test_a_span_that_is_none_is_refused_with_an_example(tmp_path: Path, manifest: Path, option: str, span: str) -> None:
    arguments = [str(written(tmp_path, [0.0])), "--baseline", str(manifest), option, span]
    if option == "--since":
        arguments = ["--prometheus", "http://127.0.0.1:1", *arguments[1:]]
    result = CliRunner().invoke(replay_command, arguments)
    assert result.exit_code == 2
    assert 'write for example "3h"' in result.output


def test_a_series_comes_from_a_pipe_too(tmp_path: Path, manifest: Path) -> None:
    piped = written(tmp_path, LOSS_AND_BACK).read_bytes()
    arguments = ["-", "--baseline", str(manifest), "-o", "json"]
    result = CliRunner().invoke(replay_command, arguments, input=piped, catch_exceptions=False)
    assert json.loads(result.output)["summary"]["regressed"] == 1


def with_gap(folder: Path, seconds: float, losses: list[float]) -> Path:
    path = folder / "gaps.csv"
    path.write_text("time,value\n" + "\n".join(f"{seconds * i},{0.46 * (1 - loss)}" for i, loss in enumerate(losses)))
    return path


def test_a_series_in_which_nothing_can_be_seen_says_so_and_is_not_called_well(tmp_path: Path, manifest: Path) -> None:
    """Thirty thousand seconds between two readings are milliseconds, or epochs."""
    path = with_gap(tmp_path, 30_000, LOSS_AND_BACK)
    text = ran(path, "--baseline", manifest)
    assert "a reading comes every 8.3 h, and 20 min without one forget what was collected" in text
    assert "are its times milliseconds?" in text
    assert "no loss beyond" not in text
    told = json.loads(ran(path, "--baseline", manifest, "-o", "json"))
    assert [remark[:28] for remark in told["summary"]["remarks"]] == ["a reading comes every 8.3 h,"]


def test_readings_that_are_far_between_say_how_long_a_loss_takes_to_be_seen(tmp_path: Path, manifest: Path) -> None:
    text = ran(with_gap(tmp_path, 600, LOSS_AND_BACK), "--baseline", manifest)
    assert "a reading comes every 10 min and counts for 2.5 min at most: a loss is Regressed after 40 min, not" in text
    assert "Regressed" in text


def test_a_gap_is_not_counted_as_usable(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "gap.csv"
    path.write_text("time,value\n" + "\n".join(f"{30 * i + (7200 if i > 60 else 0)},0.46" for i in range(120)))
    assert json.loads(ran(path, "--baseline", manifest, "-o", "json"))["summary"]["usableHours"] < 1.05


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], "the series has no readings"),
        (["nan"] * 50, "NoData: readings arrive, and none of the signals that the baseline declares is among them"),
        (["0"] * 50, "NoData: readings arrive, and none of the signals"),
        (["0.46"], "one reading is not a span of time"),
    ],
)
def test_a_series_that_says_nothing_is_not_called_well(
    tmp_path: Path, manifest: Path, values: list[str], says: str
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("time,value\n" + "".join(f"{30 * index},{value}\n" for index, value in enumerate(values)))
    text = ran(path, "--baseline", manifest)
    assert says in text
    assert "no loss beyond" not in text


def test_values_of_another_signal_than_the_baselines_are_told_with_the_option_that_says_so(
    tmp_path: Path, manifest: Path
) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text("time,value\n" + "\n".join(f"{30 * index},9000" for index in range(60)))
    text = ran(path, "--baseline", manifest)
    assert "another unit" in text
    assert "the values are taken for MFU: say with --signal what else they are" in text


def test_a_healthy_series_is_said_to_be_nothing_to_speak_of(tmp_path: Path, manifest: Path) -> None:
    assert "would have said nothing" in ran(written(tmp_path, [0.0] * 200), "--baseline", manifest)


def test_a_silence_is_no_data(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "gap.csv"
    path.write_text("time,value\n" + "\n".join(f"{30 * i + (7200 if i > 60 else 0)},0.46" for i in range(120)))
    told = json.loads(ran(path, "--baseline", manifest, "-o", "json"))
    assert [event["event"] for event in told["events"]] == ["NoData"]


def test_phases_gate_the_replay_as_they_gate_the_operator(tmp_path: Path, manifest: Path) -> None:
    told = json.loads(ran(written(tmp_path, [0.5] * 30, phase="checkpoint"), "--baseline", manifest, "-o", "json"))
    assert "Regressed" not in [event["event"] for event in told["events"]]


def test_a_signal_that_the_baseline_does_not_declare_is_refused_with_the_remedy(tmp_path: Path, manifest: Path) -> None:
    path = written(tmp_path, [0.0] * 10)
    with pytest.raises(MfuError, match="--record 3h"):
        ran(path, "--baseline", manifest, "--signal", "throughput")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: List\nitems: []\n", "not a TrainingBaseline manifest"),
        ("kind: TrainingBaseline\nspec: 5\n", "spec is 5: write its fields below it"),
        ("kind: TrainingBaseline\nmetadata: gpt\n", "metadata is 'gpt'"),
        ("kind: TrainingBaseline\n---\nkind: TrainingBaseline\n", "expected a single document"),
    ],
)
def test_a_manifest_that_is_none_says_what_is_wrong_with_it(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(Unreadable, match=says):
        ran(written(tmp_path, [0.0]), "--baseline", tmp_path / "bad.yaml")


def test_a_value_of_old_is_told_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(MANIFEST + "  profiling: {mode: Off}\n")
    assert spec_of(read_manifest(old)).profiling.mode == "Never"
    assert capsys.readouterr().err == (
        "kubectl-mfu: spec.profiling.mode: Off is called Never now; a later release refuses Off\n"
    )


def test_a_misspelt_field_is_told_and_what_is_written_right_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    misspelt = tmp_path / "misspelt.yaml"
    misspelt.write_text(MANIFEST + '  detection: {tolerence: "5%", sustain: 5m}\n')
    spec_of(read_manifest(misspelt))
    told = capsys.readouterr().err
    assert told == (
        "kubectl-mfu: spec.detection.tolerence is not a field, so it does nothing: "
        "`kubectl explain tb.spec.detection`\n"
    )


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_field_of_the_samples_is_known(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec_of(read_manifest(sample))
    assert capsys.readouterr().err == ""


def test_either_a_file_or_an_address_is_needed(manifest: Path) -> None:
    result = CliRunner().invoke(replay_command, ["--baseline", str(manifest)])
    assert result.exit_code == 2
    assert "--prometheus" in result.output


class _Api(BaseHTTPRequestHandler):
    """A Prometheus API without any series, which notes what it was shown."""

    seen: ClassVar[list[tuple[str | None, str | None]]] = []
    beside = ""

    def do_GET(self) -> None:
        """Answer any query with nothing."""
        self.seen.append((self.headers.get("Authorization"), self.headers.get("X-Scope-OrgID")))
        answer = f'{{"status": "success", "data": {{"resultType": "matrix", "result": []}}{self.beside}}}'
        body = answer.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """The same."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class _LongHistory(_Api):
    """A Prometheus of one job, whose gauge fell by a tenth an hour before `now_s`; it answers at most 11,000 points."""

    now_s: ClassVar[float] = 0.0

    def do_POST(self) -> None:
        """A range query."""
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        start_s, end_s, step_s = (float(asked[name][0]) for name in ("start", "end", "step"))
        points = int((end_s - start_s) / step_s) + 1
        if points > 11_000:
            self.send_error(400, "exceeded maximum resolution of 11,000 points per timeseries")
            return
        times = [start_s + index * step_s for index in range(points)]
        values = [[time_s, str(self._value(asked["query"][0], time_s))] for time_s in times]
        labels = {"namespace": "default", "job_name": "gpt", "pod": "gpt-abc"}
        result = [{"metric": labels, "values": values}] if "mfu_probe_mfu_ratio" in asked["query"][0] else []
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _value(self, query: str, time_s: float) -> float:
        if query.startswith("timestamp("):
            return time_s
        return 0.46 if time_s < self.now_s - 3600 else 0.414


def test_a_history_of_more_points_than_a_query_may_have_is_read_as_often_as_the_operator_would_have_read_it(
    manifest: Path,
) -> None:
    _LongHistory.now_s = time.time()
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _LongHistory)) as port:
        address = f"http://127.0.0.1:{port}"
        told = json.loads(ran("--baseline", manifest, "--prometheus", address, "--since", "4d", "-o", "json"))
    assert told["summary"]["readings"] == pytest.approx(4 * 2880, abs=5)
    regressed = datetime.fromisoformat(told["events"][0]["time"]).timestamp()
    assert regressed - (_LongHistory.now_s - 3600) == pytest.approx(11 * 60, abs=61)


@pytest.mark.parametrize(
    ("files", "environment", "sent"),
    [
        ({"token": "abc"}, {}, "Bearer abc"),
        ({"username": "reader", "password": "pass"}, {}, "Basic cmVhZGVyOnBhc3M="),
        ({}, {"MFU_PROMETHEUS_TOKEN": "from-outside"}, "Bearer from-outside"),
    ],
)
def test_a_prometheus_is_shown_the_tenant_and_what_the_folder_or_the_environment_holds(
    tmp_path: Path,
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    environment: dict[str, str],
    sent: str,
) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    for name, content in environment.items():
        monkeypatch.setenv(name, content)
    _Api.seen.clear()
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _Api)) as port, pytest.raises(MfuError, match="has no series"):
        ran(
            "--baseline",
            manifest,
            "--prometheus",
            f"http://127.0.0.1:{port}",
            "--tenant",
            "team-a",
            "--credentials",
            folder,
        )
    assert set(_Api.seen) == {(sent, "team-a")}


class _InPart(_Api):
    """It cannot reach a part of its data."""

    beside = ', "warnings": ["fetch series for {}: connection refused"]'


def test_a_history_without_a_part_of_its_data_is_told_beside_the_story(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _InPart)) as port:
        source = f"http://127.0.0.1:{port}"
        with pytest.raises(MfuError, match="has no series"):
            replay_command.main(["--baseline", str(manifest), "--prometheus", source], standalone_mode=False)
    told = capsys.readouterr()
    assert f"{source} answers without a part of its data: fetch series for {{}}: connection refused" in told.err
    assert told.out == ""


def test_of_what_kubectl_shows_the_level_is_the_one_that_the_operator_recorded(tmp_path: Path) -> None:
    """And so is its spread; of another generation it says nothing any more."""
    spec = {**yaml.safe_load(MANIFEST)["spec"], "baseline": {"record": {"generation": 2, "reason": "it stays"}}}
    series = str(written(tmp_path, LOSS_AND_BACK))

    def told(generation: int) -> Any:
        level = Baseline(
            Level(mfu=0.5), Spread(0.01, 0.001, 0.002, 3), Provenance.RECORDED, recorded_at=1e9, generation=generation
        )
        shown = {**yaml.safe_load(MANIFEST), "spec": spec, "status": codec.encode(Status(baseline=level))}
        arguments = ["--baseline", "-", series, "-o", "json"]
        result = CliRunner().invoke(replay_command, arguments, input=yaml.safe_dump(shown), catch_exceptions=False)
        return json.loads(result.output)["summary"]

    assert (told(2)["baseline"], told(2)["spread"]["runs"], told(2)["recorded"]) == (0.5, 3, None)
    assert told(1)["baseline"] == pytest.approx(0.46)


def test_the_standard_input_is_the_baseline_or_the_series(manifest: Path) -> None:
    result = CliRunner().invoke(replay_command, ["-", "--baseline", "-"], input="")
    assert result.exit_code == 2
    assert "not both" in result.output


def test_a_span_may_begin_at_a_moment(manifest: Path) -> None:
    _LongHistory.now_s = time.time()
    since = datetime.fromtimestamp(_LongHistory.now_s - 7200, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with running(ThreadingHTTPServer(("127.0.0.1", 0), _LongHistory)) as port:
        asked = ["--prometheus", f"http://127.0.0.1:{port}", "--since", since]
        told = json.loads(ran("--baseline", manifest, *asked, "-o", "json"))
    assert told["summary"]["readings"] == pytest.approx(240, abs=4)


def test_credentials_and_a_file_are_not_for_each_other(tmp_path: Path, manifest: Path) -> None:
    arguments = [str(written(tmp_path, [0.0])), "--baseline", str(manifest), "--tenant", "team-a"]
    result = CliRunner().invoke(replay_command, arguments)
    assert result.exit_code == 2
    assert "--prometheus" in result.output


def test_a_series_without_rows_is_a_summary_of_nothing_and_nothing_to_record(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("time,value\n")
    told = json.loads(ran(path, "--baseline", manifest, "-o", "json"))
    assert (told["events"], told["summary"]["readings"], told["summary"]["verdict"]) == ([], 0, "NoData")
    ran(path, "--baseline", manifest, "-o", "svg")
    with pytest.raises(Unreadable, match="no readings"):
        ran(path, "--baseline", manifest, "--record", "3h")


@pytest.mark.parametrize("values", [["nan"] * 50, ["0"] * 50, ["0.46"], ["inf", "0.46"]])
def test_values_that_are_no_speed_do_no_harm(tmp_path: Path, manifest: Path, values: list[str]) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("time,value\n" + "\n".join(f"{30 * index},{value}" for index, value in enumerate(values)))
    assert "Regressed" not in ran(path, "--baseline", manifest, "-o", "json")
    ran(path, "--baseline", manifest, "-o", "svg")
    CliRunner().invoke(replay_command, [str(path), "--baseline", str(manifest), "-o", "png"], catch_exceptions=False)


def test_nothing_is_said_of_a_time_when_the_level_was_not_known_yet(tmp_path: Path, manifest: Path) -> None:
    """A run that starts 15 % slow for an hour loses nothing against a level that is recorded from its third hour on."""
    path = written(tmp_path, [0.15] * 120 + [0.0] * 1000 + [0.2] * 120)
    text = ran(path, "--baseline", manifest, "--record", "2h")
    assert "nothing is reported before 2h46m00s" in text
    first = json.loads(ran(path, "--baseline", manifest, "--record", "2h", "-o", "json"))["events"][0]
    assert (first["event"], first["onset"]) == ("Regressed", pytest.approx(1120 * 30, abs=60))
    assert "since 9h19m" in text


def test_a_recorded_level_says_nothing_of_what_came_before_it_was_recorded(tmp_path: Path) -> None:
    body = yaml.safe_load(MANIFEST)
    body["spec"]["baseline"] = {"record": {"duration": "1h"}}
    level = Baseline(
        Level(mfu=0.46), Spread(0.01, 0.001, 0.002, 3), Provenance.RECORDED, recorded_at=1.8e9, generation=1
    )
    body["status"] = codec.encode(Status(baseline=level))
    manifest = tmp_path / "recorded.yaml"
    manifest.write_text(yaml.safe_dump(body))
    path = tmp_path / "dated.csv"
    rows = [f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z,{0.46 if n < 60 else 0.3}" for n in range(120)]
    path.write_text("time,value\n" + "\n".join(rows))
    text = ran(path, "--baseline", manifest)
    assert "The operator had no level yet: --record 3h takes one from the first hours of the series." in text
    assert "Regressed" not in text


def test_earlier_runs_say_how_a_run_settles(tmp_path: Path, manifest: Path) -> None:
    values = [0.41 if 1200 <= second < 3000 else 0.46 for second in range(0, 14400, 30)]
    rows = "\n".join(f"{30 * index},{value}" for index, value in enumerate(values))
    before, now = tmp_path / "before.csv", tmp_path / "now.csv"
    for path in (before, now):
        path.write_text(f"time,value\n{rows}\n")
    assert "Regressed" in ran(now, "--baseline", manifest)
    assert "said nothing" in ran(now, "--baseline", manifest, "--earlier", before)


def test_earlier_runs_are_for_a_file(manifest: Path) -> None:
    asked = ["--baseline", str(manifest), "--prometheus", "http://prometheus", "--earlier", str(manifest)]
    done = CliRunner().invoke(replay_command, asked)
    assert (done.exit_code, "the climb that the baseline recorded counts" in done.output) == (2, True)


def test_a_replay_is_yaml_too(tmp_path: Path, manifest: Path) -> None:
    path = written(tmp_path, LOSS_AND_BACK)
    told = yaml.safe_load(ran(path, "--baseline", manifest, "-o", "yaml"))
    assert told == json.loads(ran(path, "--baseline", manifest, "-o", "json"))
