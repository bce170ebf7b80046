"""A live capture from the request to the account, on ranks for which mfu_probe's own server answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.capture_api import RankApi
from mfu_operator.coordinate import run
from mfu_operator.coordinate.crew import Pace
from mfu_operator.coordinate.run import Captured
from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.trace import termination_message as compact
from mfu_operator.trace.analyze import profile
from tests.support.rank_servers import TOKEN, RankServers, dlrm, torchrec

HASTY = Pace(timeout_s=1.0, patience_s=0.6, poll_s=0.02, ready_s=5.0, margin_s=0.3)
Start = Callable[..., RankServers]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    made: list[RankServers] = []

    def begin(traces: Sequence[Path], **changes: Any) -> RankServers:
        folder = tmp_path / f"run-{len(made)}"
        folder.mkdir()
        made.append(RankServers(folder, traces, **changes))
        return made[-1]

    yield begin
    for each in made:
        each.stop()


def capture(servers: RankServers, folder: Path, token: str = TOKEN, **changes: Any) -> Captured:
    place = folder / "traces"
    place.mkdir(exist_ok=True)
    return run.captured(servers.request(**changes), token, place, lambda _: None, HASTY)


def whys(found: Captured) -> dict[int | None, str]:
    return {one.rank: one.why for one in found.missing}


def test_all_ranks_record_the_same_steps_and_their_merged_account_is_that_of_their_traces(
    start: Start, tmp_path: Path
) -> None:
    servers = start(torchrec())
    found = capture(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == [0, 1, 2, 3]
    assert len({one.first_step for one in found.recorded}) == 1
    assert found.missing == ()
    assert found.account.parts_ns == profile(torchrec()).parts_ns
    assert found.account.facts.number(facts.RANKS_RECORDED) == 4


def test_the_slow_rank_is_named_with_its_node(start: Start, tmp_path: Path) -> None:
    found = capture(start(torchrec()), tmp_path)
    assert found.account.facts.number(facts.SLOWEST_RANK) == 2
    assert found.account.facts.word(facts.SLOWEST_NODE) == "node-2"


def test_what_the_loop_waited_is_told_and_nothing_of_a_trace_is_kept(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    found = capture(servers, tmp_path)
    pause_ns = found.account.facts.number(facts.CAPTURE_PAUSE_NS)
    assert pause_ns is not None
    assert pause_ns > 0
    assert list((tmp_path / "traces").iterdir()) == []
    assert list(servers.folder.rglob("*.json.gz")) == []


def test_the_account_fits_a_termination_message_and_comes_out_of_it_again(start: Start, tmp_path: Path) -> None:
    servers = start(dlrm(), processes=4)
    servers.ranks[5].stop()
    found = capture(servers, tmp_path)
    text = compact.encode(found.account)
    assert len(text.encode()) <= compact.LIMIT_BYTES
    back = compact.decode(text)
    assert back.facts.number(facts.RANKS_RECORDED) == 7
    assert back.facts.word(facts.RANKS_MISSING) == "rank 5"
    assert "Unreachable" in back.warnings[0]


def test_the_ranks_of_a_pod_listen_side_by_side(start: Start, tmp_path: Path) -> None:
    found = capture(start(dlrm(), processes=4), tmp_path)
    assert [(one.rank.number, one.rank.pod.name) for one in found.recorded] == [
        (rank, f"gpt-{rank // 4}") for rank in range(8)
    ]


def test_fewer_ranks_are_asked_of_every_node_in_turn(start: Start, tmp_path: Path) -> None:
    found = capture(start(dlrm(), processes=4), tmp_path, ranks=2)
    assert [one.rank.number for one in found.recorded] == [0, 4]
    assert found.account.facts.word(facts.RANKS_MISSING) == "rank 1-3, 5-7"


def test_a_rank_that_never_answers_is_told_and_the_others_are_accounted_for(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.ranks[1].stop()
    found = capture(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == [0, 2, 3]
    (missing,) = found.missing
    assert (missing.pod.name, missing.why) == ("gpt-1", "Unreachable")


def test_another_pod_at_the_address_is_never_sent_the_token(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.pods[3] = replace(servers.pods[3], uid="ffffffff-0000-4000-8000-000000000000")
    found = capture(servers, tmp_path)
    (missing,) = found.missing
    assert (missing.pod.name, missing.why) == ("gpt-3", "PodReplaced")
    assert not servers.ranks[3].session.busy


def test_a_rank_that_does_not_say_which_pod_it_is_in_is_not_sent_the_token(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.ranks[0].server.pod = None
    found = capture(servers, tmp_path)
    assert [one.why for one in found.missing] == ["IdentityUnknown"]


def test_a_rank_killed_while_it_records_is_missing_and_the_rest_is_answered(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())

    def kill_when_recording() -> None:
        if servers.ranks[3].session.busy and servers.ranks[3].alive:
            servers.ranks[3].stop()

    servers.meanwhile.append(kill_when_recording)
    found = capture(servers, tmp_path)
    assert whys(found) == {3: "Unreachable"}
    assert [one.rank.number for one in found.recorded] == [0, 1, 2]


def test_a_rank_that_was_asked_and_stops_stepping_is_told_at_the_deadline(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())

    def hang() -> None:
        servers.ranks[1].holds |= servers.ranks[1].session.busy

    servers.meanwhile.append(hang)
    found = capture(servers, tmp_path, deadline_s=8.0)
    assert whys(found) == {1: "OutOfTime"}
    assert "waiting at step" in found.missing[0].message


def test_a_rank_one_step_ahead_records_the_same_steps(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.ranks[2].step += 1
    found = capture(servers, tmp_path)
    assert len({one.first_step for one in found.recorded}) == 1
    assert len(found.recorded) == 4


def test_ranks_that_are_past_the_first_step_are_asked_for_later_ones(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = start(torchrec())
    timely = RankApi.capture
    asked: list[int] = []

    def too_late_once(api: RankApi, capture: str, first_step: int, steps: int) -> None:
        asked.append(first_step)
        late = api.pod.name == "gpt-1" and len(asked) <= len(servers.ranks)
        timely(api, capture, 0 if late else first_step, steps)

    monkeypatch.setattr(RankApi, "capture", too_late_once)
    found = capture(servers, tmp_path)
    assert len(set(asked)) == 2
    assert len(found.recorded) == 4
    assert len({one.first_step for one in found.recorded}) == 1


def test_a_rank_that_counts_from_anew_is_left_out_with_its_step(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec(), first_step=5000)
    servers.ranks[0].step = 3
    servers.ranks[0].session.before_step(3)
    found = capture(servers, tmp_path)
    assert whys(found) == {0: "CountsApart"}


def test_a_wrong_token_is_a_failure_of_that_name(start: Start, tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        capture(start(torchrec()), tmp_path, token="other")
    assert caught.value.reason == "TokenRefused"
    assert "mount" in caught.value.message


def test_nobody_there_is_a_failure_that_names_the_pods(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.stop()
    with pytest.raises(Unreadable) as caught:
        capture(servers, tmp_path)
    assert caught.value.reason == "CaptureFailed"
    assert "pod gpt-0" in caught.value.message


def test_a_checkpoint_is_waited_for(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    begun = servers.ranks[0].step
    for rank in servers.ranks:
        rank.phase = "checkpoint"

    def train_again() -> None:
        if servers.ranks[0].step > begun + 40:
            for rank in servers.ranks:
                rank.phase = "running"

    servers.meanwhile.append(train_again)
    found = capture(servers, tmp_path)
    assert len(found.recorded) == 4
    assert (found.recorded[0].first_step or 0) > begun + 40


def test_a_recorder_that_fails_on_one_rank_is_told_in_its_words(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    servers.ranks[1].recorder.fails = RuntimeError("CUPTI is in use by another profiler")
    found = capture(servers, tmp_path)
    assert whys(found) == {1: "CaptureFailed"}
    assert "CUPTI is in use" in found.missing[0].message


def test_traces_are_kept_where_that_is_asked_for(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    place = tmp_path / "kept"
    place.mkdir()
    run.captured(servers.request(), TOKEN, place, lambda _: None, HASTY, most_held=1 << 30)
    assert sorted(each.name for each in place.iterdir()) == [f"rank-{rank}.json.gz" for rank in range(4)]


def test_a_sidecar_that_knows_neither_ranks_nor_steps_is_captured_by_its_pods_numbers(
    start: Start, tmp_path: Path
) -> None:
    servers = start(torchrec(), kineto=True)
    numbered = [replace(pod, rank=index) for index, pod in enumerate(servers.pods)]
    found = capture(servers, tmp_path, targets=tuple(numbered))
    assert found.account.facts.word(facts.PRODUCER) == "kineto"
    assert [one.rank.number for one in found.recorded] == [0, 1, 2, 3]
    assert found.account.facts.word(facts.SLOWEST_NODE) == "node-2"


def test_sidecars_that_took_other_steps_are_asked_again(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = start(torchrec(), kineto=True)
    monkeypatch.setattr("mfu_probe.live.session.PAUSE_SECONDS", 0.0)
    sidecar = servers.ranks[1].server
    states = sidecar.state

    def other_steps(capture: str) -> dict[str, Any]:
        told = states(capture)
        return {**told, "startNs": told["startNs"] + 10**9} if capture.endswith("-0-0") else told

    monkeypatch.setattr(sidecar, "state", other_steps)
    found = capture(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == [0, 1, 2, 3]


def test_what_a_sidecar_leaves_null_is_read(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = start(torchrec(), kineto=True)
    for rank in servers.ranks:
        described = rank.server.description
        told = {"limits": None, "busy": None, "localRank": None}
        monkeypatch.setattr(rank.server, "description", lambda known=described, null=told: {**known(), **null})
    assert len(capture(servers, tmp_path).recorded) == 4


def test_clocks_of_nodes_that_differ_a_little_make_no_other_steps(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = start(torchrec(), kineto=True)
    sidecar = servers.ranks[1].server
    states = sidecar.state
    monkeypatch.setattr(
        sidecar, "state", lambda capture: {**states(capture), "startNs": states(capture)["startNs"] + 10**8}
    )
    assert len(capture(servers, tmp_path).recorded) == 4


def test_of_pods_that_do_not_say_how_many_ranks_they_have_every_port_that_answers_is_asked(
    start: Start, tmp_path: Path
) -> None:
    servers = start(dlrm(), processes=4, kineto=True)
    numbered = tuple(replace(pod, rank=4 * index) for index, pod in enumerate(servers.pods))
    assert [one.rank.number for one in capture(servers, tmp_path, targets=numbered).recorded] == list(range(8))


def test_a_checkpoint_of_one_rank_at_the_agreed_step_costs_another_capture_and_no_rank(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mfu_probe.live.session.PAUSE_SECONDS", 0.0)
    servers = start(torchrec())
    session = servers.ranks[0].session
    ended: list[bool] = []

    def checkpoint_once() -> None:
        if not ended and session.busy and session.state("mfu-gpt-a1-0-0")["state"] == "recording":
            session.enter_phase("checkpoint")
            ended.append(True)

    servers.meanwhile.append(checkpoint_once)
    found = capture(servers, tmp_path)
    assert ended
    assert [one.rank.number for one in found.recorded] == [0, 1, 2, 3]
    assert found.missing == ()


def test_what_was_recorded_stays_where_the_next_capture_brings_less(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mfu_probe.live.session.PAUSE_SECONDS", 0.0)
    servers = start(torchrec())
    session = servers.ranks[0].session

    def always_in_a_checkpoint() -> None:
        if session.busy and any(each.state == "recording" for each in session._known.values()):
            session.enter_phase("checkpoint")

    servers.meanwhile.append(always_in_a_checkpoint)
    found = capture(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == [1, 2, 3]
    assert whys(found) == {0: "PhaseBegan"}


def test_a_process_that_began_anew_in_its_pod_is_told_from_one_that_failed(start: Start, tmp_path: Path) -> None:
    servers = start(torchrec())
    session = servers.ranks[2].session

    def restart_once() -> None:
        if session.busy:
            session._known.clear()

    servers.meanwhile.append(restart_once)
    assert whys(capture(servers, tmp_path)) == {2: "RankRestarted"}
