"""Who there is, whose turn it is, and what a version of an object says that is new."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.api.group import RESET_ANNOTATION
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.process import fleet as fleets
from mfu_operator.process.fleet import REST_S, Fleet, Member, News, spread
from tests.support.stored_object import stored_object


def body(
    uid: str = "a", version: int | None = 5, generation: int = 1, namespace: str = "team-a",
    status: dict[str, Any] | None = None, annotations: dict[str, str] | None = None, **spec: Any,
) -> dict[str, Any]:  # fmt: skip
    found = stored_object(**spec)
    metadata = {"namespace": namespace, "name": f"job-{uid}", "uid": uid, "generation": generation}
    metadata |= {} if version is None else {"resourceVersion": str(version)}
    return found | {"metadata": metadata | {"annotations": annotations or {}}, "status": status}


def of(*bodies: dict[str, Any]) -> Fleet:
    fleet = Fleet()
    for each in bodies:
        fleet.saw(each, 0.0)
    return fleet


def names(members: list[Member]) -> str:
    return " ".join(each.identity.uid for each in members)


def refuses(_: Mapping[str, Any], spec: BaselineSpec) -> BaselineSpec | Stall:
    return Stall("NotOurs", f"another operator follows {spec.workload.name}")


def test_an_object_that_was_not_known_is_a_member_that_is_due_now() -> None:
    fleet = Fleet()
    member, news = fleet.saw(body(status={"phase": "x"}, annotations={RESET_ANNOTATION: "please"}), 50.0)
    assert (news, member.due_s, member.confirmed_s, member.ticking) == (News.SPEC, 50.0, 50.0, False)
    assert (member.identity.namespace, member.identity.name, member.identity.generation) == ("team-a", "job-a", 1)
    assert (member.seen.version, member.status()) == (5, {"phase": "x"})
    assert member.seen.asked == ((RESET_ANNOTATION, "please"),)
    assert member.seen.object_version.resource_version == "5"
    assert isinstance(member.spec, BaselineSpec)
    assert (len(fleet), "a" in fleet, "b" in fleet) == (1, True, False)
    assert (member.idle, member.broken, member.conflicts, member.begun_s) == (0, 0, 0, math.inf)


def test_an_object_without_a_version_or_a_status_has_none() -> None:
    member, _ = Fleet().saw(body(version=None), 0.0)
    assert (member.seen.version, member.status()) == (0, {})


def test_a_newer_status_is_taken_and_the_spec_is_as_it_was() -> None:
    fleet = of(body())
    before = fleet.members()[0].spec
    member, news = fleet.saw(body(version=6, status={"phase": "x"}, annotations={RESET_ANNOTATION: "1"}), 70.0)
    assert news is News.STATUS
    assert (member.seen.version, member.status(), member.confirmed_s) == (6, {"phase": "x"}, 70.0)
    assert member.seen.asked == ((RESET_ANNOTATION, "1"),)
    assert member.spec is before


def test_the_version_that_is_known_says_nothing_new_and_that_the_object_is_there() -> None:
    fleet = of(body())
    member, news = fleet.saw(body(status={"phase": "x"}), 70.0)
    assert (news, member.status(), member.confirmed_s) == (News.NOTHING, {}, 70.0)


def test_an_older_version_is_not_believed_and_the_api_server_is_asked() -> None:
    fleet = of(body(version=7))
    member, news = fleet.saw(body(version=6, generation=2, suspend=True), 70.0)
    assert (news, member.seen.version, member.confirmed_s) == (News.STATUS, 7, -math.inf)


def test_a_status_that_was_taken_away_is_empty() -> None:
    fleet = of(body(status={"phase": "x"}))
    assert fleet.saw(body(version=6), 70.0)[0].status() == {}


def test_a_refused_spec_of_another_generation_is_another_one() -> None:
    fleet = Fleet(refuses)
    member, _ = fleet.saw(body(), 0.0)
    assert fleet.read(member, member.seen, body(version=6, generation=2), 1.0) is News.SPEC
    assert fleet.read(member, member.seen, body(version=7, generation=2), 1.0) is News.STATUS


def test_another_generation_is_another_spec() -> None:
    fleet = of(body())
    member, news = fleet.saw(body(version=6, generation=2, suspend=True), 70.0)
    assert news is News.SPEC
    assert isinstance(member.spec, BaselineSpec)
    assert member.spec.suspend


def test_a_spec_that_cannot_be_followed_is_judged_again_with_every_version() -> None:
    fleet = Fleet(refuses)
    member, _ = fleet.saw(body(), 0.0)
    assert isinstance(member.spec, Stall)
    assert fleet.saw(body(version=6, status={"phase": "x"}), 1.0)[1] is News.STATUS
    assert member.status() == {"phase": "x"}
    fleet.judged = lambda body, spec: spec
    assert fleet.saw(body(version=7), 2.0)[1] is News.SPEC
    fleet.judged = refuses
    assert fleet.saw(body(version=8), 3.0)[1] is News.STATUS
    assert isinstance(member.spec, BaselineSpec)
    assert fleet.saw(body(version=9, generation=2), 4.0)[1] is News.SPEC
    assert isinstance(member.spec, Stall)


def test_a_refusal_with_another_reason_is_news() -> None:
    fleet = Fleet(refuses)
    fleet.saw(body(), 0.0)
    fleet.judged = lambda body, spec: Stall("NotOurs", "somebody else does")
    assert fleet.saw(body(version=6), 1.0)[1] is News.SPEC


def test_a_spec_that_cannot_be_read_says_why() -> None:
    member, _ = Fleet().saw(body(baseline={}), 0.0)
    assert isinstance(member.spec, Stall)


def test_an_answer_to_our_own_write_is_taken_unless_the_object_is_gone() -> None:
    fleet = of(body())
    member = fleet.members()[0]
    assert fleet.answered(member, body(version=6, status={"phase": "x"}), 70.0) is News.STATUS
    assert (member.status(), member.confirmed_s) == ({"phase": "x"}, 70.0)
    assert fleet.answered(member, body(version=7, generation=2, suspend=True), 71.0) is News.SPEC
    fleet.gone("a")
    assert fleet.answered(member, body(version=8, generation=3), 72.0) is News.NOTHING
    again, _ = fleet.saw(body(version=9), 73.0)
    assert fleet.answered(member, body(version=10), 74.0) is News.NOTHING
    assert again.seen.version == 9


@pytest.mark.parametrize(
    ("now", "news"),
    [
        (body(), News.NOTHING),
        (body(version=3, status={"phase": "x"}), News.STATUS),
        (body(version=6), News.STATUS),
        (body(version=3, generation=2, suspend=True), News.SPEC),
        (body(generation=2), News.SPEC),
    ],
)
def test_what_was_read_takes_the_place_of_what_was_known_whichever_version_it_is(
    now: dict[str, Any], news: News
) -> None:
    fleet = of(body())
    member = fleet.members()[0]
    assert fleet.read(member, member.seen, now, 70.0) is news
    assert member.seen.version == int(now["metadata"]["resourceVersion"])
    assert member.confirmed_s == 70.0


def test_what_the_watch_told_while_the_object_was_read_is_kept() -> None:
    fleet = of(body())
    member = fleet.members()[0]
    before = member.seen
    fleet.saw(body(version=8), 60.0)
    assert fleet.read(member, before, body(version=7), 70.0) is News.STATUS
    assert (member.seen.version, member.confirmed_s) == (8, 60.0)


def test_what_is_due_ticks_until_its_end_and_the_longest_due_comes_first() -> None:
    fleet = of(body("a"), body("b"), body("c"))
    a, b, c = fleet.members()
    a.due_s, b.due_s, c.due_s = 30.0, 10.0, 30.1
    due = fleet.begin(30.0, 9, 9)
    assert names(due) == "b a"
    assert (b.ticking, b.begun_s, b.due_s) == (True, 10.0, math.inf)
    assert not c.ticking
    fleet.end(b, 90.0)
    assert (b.ticking, b.due_s) == (False, 90.0)


def test_what_came_up_during_a_tick_makes_the_next_one_due_sooner() -> None:
    fleet = of(body("a"))
    [member] = fleet.begin(0.0, 9, 9)
    fleet.call(member, 20.0)
    assert fleet.begin(25.0, 9, 9) == []
    fleet.end(member, 90.0)
    assert member.due_s == 20.0
    fleet.call(member, 30.0)
    assert member.due_s == 20.0


def test_no_more_begin_than_may_of_all_and_of_a_namespace() -> None:
    many = [body(f"a{index}", namespace="a") for index in range(4)] + [body("b0", namespace="b")]
    assert names(of(*many).begin(0.0, 2, 9)) == "a0 b0"
    fleet = of(*many)
    assert names(fleet.begin(0.0, 9, 2)) == "a0 b0 a1"
    assert fleet.begin(0.0, 9, 2) == []
    assert names(fleet.begin(0.0, 9, 3)) == "a2"


def test_a_namespace_whose_ticks_are_under_way_waits_for_one_that_has_fewer() -> None:
    fleet = of(body("a0", namespace="a"), body("a1", namespace="a"), body("b0", namespace="b"))
    a0, a1, b0 = fleet.members()
    b0.due_s = 5.0
    assert fleet.begin(0.0, 1, 9) == [a0]
    assert fleet.begin(6.0, 1, 9) == [b0]
    assert fleet.begin(6.0, 1, 9) == [a1]


def test_of_namespaces_with_as_many_ticks_the_one_that_began_earlier_comes_first() -> None:
    fleet = of(body("a", namespace="a"), body("b", namespace="b"))
    a, b = fleet.members()
    a.due_s, b.due_s = 1.0, 2.0
    assert fleet.begin(10.0, 1, 9) == [a]
    fleet.end(a, 1.0)
    assert fleet.begin(11.0, 1, 9) == [b]
    fleet.end(b, 1.0)
    assert fleet.begin(12.0, 1, 9) == [a]


def test_when_a_namespace_began_is_forgotten_after_a_rest() -> None:
    fleet = of(body("a", namespace="a"), body("b", namespace="b"))
    a, b = fleet.members()
    fleet.begin(0.0, 1, 9)
    fleet.end(a, 2.0)
    assert fleet.begin(REST_S - 1, 1, 9) == [b]
    fleet.end(b, 1.0)
    assert fleet.begin(2 * REST_S - 1, 1, 9) == [b]


def test_when_a_namespace_began_is_known_until_a_rest_has_passed() -> None:
    fleet = of(body("a", namespace="a"), body("b", namespace="b"))
    a, b = fleet.members()
    fleet.begin(0.0, 1, 9)
    fleet.end(a, 2.0)
    fleet.begin(REST_S - 1, 1, 9)
    fleet.end(b, 1.0)
    assert fleet.begin(2 * REST_S - 2, 1, 9) == [a]


def test_the_oldest_due_is_told_while_it_waits_and_while_it_ticks() -> None:
    fleet = of(body("a"), body("b"))
    a, b = fleet.members()
    a.due_s, b.due_s = 30.0, 20.0
    assert fleet.oldest_due_s(50.0) == 30.0
    assert fleet.oldest_due_s(10.0) == 0.0
    assert fleet.begin(25.0, 9, 9) == [b]
    assert fleet.oldest_due_s(50.0) == 30.0
    assert Fleet().oldest_due_s(50.0) == 0.0


def test_every_object_can_be_read_again() -> None:
    fleet = of(body("a"), body("b"))
    a, b = fleet.members()
    a.due_s, b.due_s = 10.0, 90.0
    fleet.read_again(50.0)
    assert (a.due_s, b.due_s) == (10.0, 50.0)
    assert (a.confirmed_s, b.confirmed_s) == (-math.inf, -math.inf)


def test_a_namespace_has_a_bounded_number_of_baselines_that_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MOST_OF_A_NAMESPACE", 2)
    fleet = of(body("a"), body("b"), body("c"), body("d", namespace="other"))
    specs = {member.identity.uid: member.spec for member in fleet.members()}
    lacking = specs["c"]
    assert isinstance(lacking, Stall)
    assert lacking.reason == "TooManyBaselines"
    assert not any(isinstance(specs[uid], Stall) for uid in "abd")
    assert fleet.saw(body("a", version=6, generation=2), 1.0)[1] is News.SPEC
    assert isinstance(fleet.members()[0].spec, BaselineSpec)


def test_one_that_had_no_place_takes_that_of_one_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MOST_OF_A_NAMESPACE", 1)
    fleet = of(body("z", namespace="other"), body("y", namespace="other"), body("a"), body("b"), body("c"))
    before = {member.identity.uid: member for member in fleet.members()}
    assert fleet.gone("a") is before["a"]
    called = [uid for uid, member in before.items() if member.due_s == -math.inf]
    assert called == ["b"]
    assert before["b"].confirmed_s == -math.inf
    [first] = fleet.begin(1.0, 1, 9)
    assert first is before["b"]
    fleet.read(first, first.seen, body("b"), 1.0)
    assert isinstance(first.spec, BaselineSpec)
    assert fleet.gone("a") is None


def test_an_object_that_is_refused_for_another_reason_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MOST_OF_A_NAMESPACE", 1)
    fleet = of(body("bad", baseline={}), body("a"), body("b"))
    fleet.gone("a")
    assert [member.identity.uid for member in fleet.members() if member.due_s == -math.inf] == ["b"]


def test_nobody_is_called_where_there_was_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MOST_OF_A_NAMESPACE", 2)
    fleet = of(body("a"), body("b"), body("c"))
    fleet.gone("c")
    fleet.saw(body("c"), 0.0)
    fleet.gone("a")
    c = fleet.members()[1]
    assert c.due_s == -math.inf
    c.due_s = 5.0
    fleet.gone("b")
    assert c.due_s == 5.0


def test_moments_are_spread_over_the_whole_span_and_are_the_same_for_the_same_uid() -> None:
    moments = [spread(f"uid-{index}", 600.0) for index in range(200)]
    assert moments == [spread(f"uid-{index}", 600.0) for index in range(200)]
    assert 0 <= min(moments) < 30
    assert 570 < max(moments) < 600
