"""A merge that was rolled out and did not help exonerates its commit, and nothing less does."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Exoneration, Incident, PinFact, ProposalFact
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.effects import Record
from mfu_operator.reconcile.proposed.exonerate import exonerate, rolled_out_s
from mfu_operator.reconcile.world import UNSEEN, World
from tests.support import worlds
from tests.support.worlds import NOW_S, ailing, explained, judgement, pod, regressed, source, workload, world

MERGED_S = worlds.NOW_S
SYNCED_S = MERGED_S + 60
STARTED_S = MERGED_S + 90
HORIZON_S = 120 + 3 * 600
"""Of the default rule: the warm-up, and three times what a recovery takes."""

MERGED = replace(worlds.MERGED, merged_at=MERGED_S)
BLAMED = explained(suspect=worlds.SUSPECT, proposal=MERGED)
SYNCED = source(deployed=(*source().deployed, Deployed("f" * 40, SYNCED_S)))
RUN = workload(STARTED_S)
LASTED = regressed(last_usable_s=STARTED_S + HORIZON_S)


def late(of: Incident = BLAMED, **changes: Any) -> World:
    """A tick long after the merge, while the loss remains."""
    seen: dict[str, Any] = {"source": SYNCED, "workload": RUN, "judgement": LASTED, "now_s": MERGED_S + 7200}
    return world(ailing(of), **(seen | changes))


def test_the_commit_is_exonerated_and_the_next_one_is_looked_for() -> None:
    undone = Exoneration(replace(worlds.SUSPECT, sha="4" * 40), MERGED, NOW_S)
    step = exonerate(late(replace(BLAMED, exonerated=(undone,))))
    assert isinstance(step, Record)
    cleared = Exoneration(worlds.SUSPECT, replace(MERGED, diff=None), MERGED_S + 7200)
    assert step.status.incident == replace(BLAMED, suspect=None, proposal=None, exonerated=(undone, cleared))
    told = (
        f"{MERGED.url} was merged and rolled out, and the loss remains: commit 222222222222 did not do it; take its "
        "revert back if you want the change, and the next suspect is considered"
    )
    assert step.events == (Event("Warning", "Exonerated", told),)


PINNED = replace(BLAMED, suspect=None, pin=PinFact("outside-1", ("chart gpt was 1.0.0, and is 1.1.0 since",)))


def test_a_pin_that_did_not_help_is_exonerated_and_the_next_suspect_is_looked_for() -> None:
    step = exonerate(late(PINNED))
    assert isinstance(step, Record)
    cleared = Exoneration(None, replace(MERGED, diff=None), MERGED_S + 7200, PINNED.pin)
    assert step.status.incident == replace(PINNED, pin=None, proposal=None, exonerated=(cleared,))
    assert (cleared.id, cleared.named) == ("outside-1", f"what {MERGED.url} pins")
    told = (
        f"{MERGED.url} was merged and rolled out, and the loss remains: what it pins did not do it; take it back if "
        "you want the newer one, and the next suspect is considered"
    )
    assert step.events == (Event("Warning", "Exonerated", told),)


def test_a_pin_of_an_earlier_release_is_told_apart_by_its_branch() -> None:
    step = exonerate(late(replace(PINNED, pin=None)))
    assert isinstance(step, Record) and step.status.incident is not None
    (cleared,) = step.status.incident.exonerated
    assert (cleared.suspect, cleared.pin, cleared.id) == (None, None, MERGED.branch)


NOT_YET: list[tuple[str, World]] = [
    ("no incident", world(source=SYNCED, workload=RUN, judgement=LASTED)),
    ("nothing proposed", late(replace(BLAMED, proposal=None))),
    ("nothing judged", late(judgement=None)),
    ("not rolled out", late(workload=workload(SYNCED_S - 1000))),
    ("well again", late(judgement=judgement(last_usable_s=STARTED_S + HORIZON_S))),
    ("silent", late(judgement=judgement(Verdict.NO_DATA, last_usable_s=STARTED_S + HORIZON_S))),
    ("recovering", late(judgement=replace(LASTED, recover_evidence_s=1.0))),
    ("no reading yet", late(judgement=replace(LASTED, last_usable_s=None))),
    ("a second too early", late(judgement=replace(LASTED, last_usable_s=STARTED_S + HORIZON_S - 1))),
]


@pytest.mark.parametrize("here", [row[1] for row in NOT_YET], ids=[row[0] for row in NOT_YET])
def test_nobody_is_exonerated(here: World) -> None:
    assert exonerate(here) is None


def rolled_out(*deployed: Deployed, starts: tuple[float | None, ...] = (STARTED_S,), of: ProposalFact = MERGED) -> Any:
    run = workload(pods=tuple(pod(start) for start in starts))
    return rolled_out_s(late(source=source(deployed=deployed), workload=run), of)


def test_a_merge_is_rolled_out_when_the_last_pod_that_runs_it_has_started() -> None:
    merge = Deployed("f" * 40, SYNCED_S)
    assert rolled_out(merge) == STARTED_S
    assert rolled_out(merge, starts=(SYNCED_S, STARTED_S + 600, STARTED_S)) == STARTED_S + 600
    assert rolled_out(merge, starts=(SYNCED_S - 1, STARTED_S)) is None
    assert rolled_out(merge, starts=(None, STARTED_S)) is None
    assert rolled_out(merge, starts=()) is None
    assert rolled_out() is None


def test_a_merge_is_known_by_its_commit_or_by_a_deployment_that_begins_long_after_it() -> None:
    other, late_s = "9" * 40, MERGED_S + 300
    assert rolled_out(Deployed("f" * 12, SYNCED_S)) == STARTED_S, "a forge may tell twelve characters"
    assert rolled_out(Deployed("f" * 40, MERGED_S)) == STARTED_S
    assert rolled_out(Deployed("f" * 40, MERGED_S - 1)) is None
    assert rolled_out(Deployed(other, late_s - 1), starts=(late_s,)) is None
    assert rolled_out(Deployed(other, late_s), starts=(late_s,)) == late_s
    assert rolled_out(Deployed(other, late_s + 60, late_s - 1), starts=(late_s + 90,)) is None
    assert rolled_out(Deployed(other, late_s + 60, late_s), starts=(late_s,)) == late_s
    assert rolled_out(Deployed(other, late_s, late_s + 60), starts=(late_s,)) == late_s, "clocks of two machines"


def test_pods_that_started_with_any_deployment_of_the_merge_run_it() -> None:
    merge, later = Deployed("f" * 40, SYNCED_S), Deployed("9" * 40, SYNCED_S + 900)
    assert rolled_out(later, merge) == STARTED_S


@pytest.mark.parametrize(
    "changes",
    [{"source": None}, {"source": UNSEEN}, {"workload": None}],
    ids=["no source", "nobody looked", "no workload"],
)
def test_what_nobody_sees_is_not_rolled_out(changes: dict[str, Any]) -> None:
    assert rolled_out_s(late(**changes), MERGED) is None


def test_what_is_not_merged_is_not_rolled_out() -> None:
    assert rolled_out_s(late(), replace(MERGED, state=PullRequestState.CLOSED)) is None
    assert rolled_out_s(late(), replace(MERGED, merged_at=None)) is None
    assert rolled_out_s(late(), MERGED) == STARTED_S
