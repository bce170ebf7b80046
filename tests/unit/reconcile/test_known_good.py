"""The known good revision is the one that a healthy pod read, and is learnt only where that is sure."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model.incident import KnownGood
from mfu_operator.model.verdict import Gate
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import Investigate, Record
from tests.support import worlds
from tests.support.worlds import ailing, explained, judgement, source, workload, world
from tests.unit.reconcile.stories import story_world

KNOWN = replace(worlds.SETTLED, known_good=None)
UNSPOKEN = [
    ("a trace of a loss", {"judgement": judgement(evidence_s=1.0)}),
    ("the first reading after a gate, which is slow", {"judgement": judgement(value=0.16, change=-0.65)}),
    ("a checkpoint", {"judgement": judgement(gates=(Gate.CHECKPOINT,))}),
    ("a pod that has just started", {"workload": workload(worlds.NOW_S - 60)}),
    ("a reading from before the pod", {"judgement": judgement(last_usable_s=worlds.STARTED_S - 1)}),
    ("no pod", {"workload": workload(pods=())}),
    ("no history that reaches back", {"source": source(deployed=())}),
]


@pytest.mark.parametrize("changes", [row[1] for row in UNSPOKEN], ids=[row[0] for row in UNSPOKEN])
def test_a_revision_is_not_called_good_on(changes: dict[str, Any]) -> None:
    assert decide(world(KNOWN, **changes)) is None


def test_the_revision_that_the_pod_read_is_the_good_one_not_what_was_deployed_since() -> None:
    recorded = decide(world(KNOWN))
    assert isinstance(recorded, Record)
    assert recorded.status.known_good is not None
    assert (recorded.status.known_good.revision, recorded.status.known_good.images) == (worlds.GOOD, (worlds.IMAGE,))


@pytest.mark.parametrize(("ailment", "good"), [(Ailment.LOSS_NOT_FINITE, False), (Ailment.MEMORY_LEAK, True)])
def test_a_revision_that_does_not_learn_is_nobody_s_good_one(ailment: Ailment, good: bool) -> None:
    ill = replace(KNOWN, symptoms=(Symptom(ailment, "seen", worlds.NOW_S, 3.0, "gpt-small-x"),))
    assert (decide(world(ill)) is not None) is good


UNSEEN = {"source": None, "source_problem": Retry("ClusterUnreachable", "503")}


def test_while_the_source_cannot_be_seen_the_pod_s_start_is_noted_and_finds_the_revision_later() -> None:
    noted = decide(world(KNOWN, **UNSEEN))
    assert isinstance(noted, Record)
    assert noted.status.known_good == KnownGood(None, (worlds.IMAGE,), worlds.STARTED_S, ("node-1",))
    assert decide(world(noted.status, **UNSEEN)) is None
    learnt = decide(world(noted.status))
    assert isinstance(learnt, Record)
    assert learnt.status.known_good is not None
    assert learnt.status.known_good.revision == worlds.GOOD
    blamed = decide(story_world(ailing(explained(), known_good=noted.status.known_good), {}))
    assert isinstance(blamed, Investigate)
    assert (blamed.question.good, blamed.question.bad) == (worlds.GOOD, worlds.QUIET)


def test_a_revision_that_is_known_is_not_forgotten_while_the_source_cannot_be_seen() -> None:
    assert decide(world(worlds.SETTLED, **UNSEEN)) is None


def test_a_new_image_that_holds_the_baseline_is_a_new_known_good() -> None:
    image = "registry.example/gpt@sha256:" + "b" * 64
    recorded = decide(world(workload=workload(pods=(worlds.pod(images=(image,)),))))
    assert isinstance(recorded, Record)
    assert recorded.status.known_good is not None
    assert recorded.status.known_good.images == (image,)
