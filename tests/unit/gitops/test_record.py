"""An incident as the record that a change ticket asks for."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.record import record
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import (
    Approval,
    Exoneration,
    Incident,
    PinFact,
    ProfileFact,
    Proof,
    ProposalFact,
    Recovery,
    SuspectFact,
)
from mfu_operator.model.proposal import ProposalKind, PullRequestState

OPEN = Incident("gpt-1", 60.0, 0.0, "mfu", 0.4, 0.2, 0.5)
RECOVERY = Recovery("mfu", 0.4, 0.2, 0.41, 600.0, 12.3456, None)
SUSPECT = SuspectFact("a" * 40, "Save memory", "Pat", ("workers 8 → 0",), ("costs time",), 3)
PROPOSAL = ProposalFact(ProposalKind.REVERT, "b", "Revert it", False, state=PullRequestState.OPEN)


def told(**changes: Any) -> str:
    return record(replace(OPEN, **changes), "training/gpt", None)


def section(text: str, head: str) -> str:
    """What stands under a heading."""
    return text.partition(f"## {head}\n\n")[2].partition("\n\n## ")[0].strip()


def test_an_open_incident_tells_what_was_measured() -> None:
    assert told() == (
        "# Incident `gpt-1` of `training/gpt`\n\n"
        "|  | before | while slow | after | loss of speed |\n"
        "| :-- | --: | --: | --: | --: |\n"
        "| MFU | 0.400 | 0.200 | – | 50.0 % |\n\n"
        "## When\n\n"
        "| what | when |\n"
        "| :-- | --: |\n"
        "| the loss began | 1970-01-01 00:00:00 UTC |\n"
        "| it was sustained, and the incident opened | 1970-01-01 00:01:00 UTC |\n\n"
        "## Where the time went\n\nNo profile explains it.\n\n"
        "## Outcome\n\nThe incident is open.\n"
    )


def test_every_moment_stands_in_the_order_of_time() -> None:
    text = told(
        confirmed_at=300.0,
        approved=Approval(120.0, "now"),
        proposal=replace(PROPOSAL, opened_at=130.0, merged_at=140.0),
        recovery=RECOVERY,
        ended_at=0.5,
    )
    assert [line.split(" | ")[0].removeprefix("| ") for line in section(text, "When").splitlines()[2:]] == [
        "the loss began",
        "the incident was closed without a recovery",
        "it was sustained, and the incident opened",
        "a person approved the pull request",
        "the pull request was opened",
        "it was merged",
        "it was confirmed",
        "training had recovered",
    ]


def account(**parts_ms: float) -> StepAccount:
    parts = {part: amount * 1e6 for part, amount in parts_ms.items()}
    return StepAccount(10, sum(parts.values()), 0.0, parts)


def test_a_diagnosis_is_told_with_its_evidence_and_the_step() -> None:
    diagnosis = Diagnosis(Bottleneck.INPUT_STARVED, "DataLoaderWorkers", 0.92, ("input <wait>",))
    text = told(diagnosis=diagnosis, profile=ProfileFact("job", 1, 0.0, account(compute=20, idleInput=60)))
    assert section(text, "Where the time went").startswith(
        "`InputStarved`, cause `DataLoaderWorkers`, confidence 92%.\n\n- input &lt;wait\\>\n\n| part of the step, ms |"
    )
    bare = section(told(diagnosis=replace(diagnosis, bottleneck=None, cause=None, evidence=())), "Where the time went")
    assert bare == "`nothing grew`, confidence 92%."
    assert section(told(diagnosis=diagnosis, profile=ProfileFact("job", 1, 0.0)), "Where the time went").endswith("\\>")
    healthy = record(
        replace(OPEN, diagnosis=diagnosis, profile=ProfileFact("job", 1, 0.0, account(compute=20))),
        "x",
        account(compute=10),
    )
    assert "| compute | 10.0 | 20.0 | +10.0 |" in healthy


def test_the_commit_held_responsible_is_told_with_the_reasons() -> None:
    assert section(told(suspect=SUSPECT), "Held responsible") == (
        "commit `aaaaaaaaaaaa` `Save memory` by Pat, of 3.\n\n- workers 8 → 0\n- costs time"
    )
    assert "## Held responsible" not in told()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Revert it (open)"),
        ({"state": None}, "Revert it ()"),
        ({"dry_run": True}, "Revert it (dry run: nothing left the cluster)"),
        ({"url": "https://git.example/pull/7"}, "Revert it (open)\n\n- https://git.example/pull/7"),
        ({"url": "http://git.example/pull/7"}, "Revert it (open)\n\n- http://git.example/pull/7"),
        ({"url": "https://x/[a](b)"}, "Revert it (open)\n\n- https:\u200b//x/\\[a\\]\\(b\\)"),
        ({"merge_sha": "c" * 7}, "Revert it (open)\n- merged as `ccccccc`"),
        ({"withdrawn": "not needed"}, "Revert it (open)\n- withdrawn: not needed"),
    ],
)
def test_what_was_proposed_is_told(changes: dict[str, Any], expected: str) -> None:
    found = section(told(proposal=replace(PROPOSAL, **changes)), "Proposed")
    assert found == expected


def test_a_commit_that_did_not_do_it_is_told() -> None:
    cleared = Exoneration(SUSPECT, replace(PROPOSAL, url="https://git.example/pull/7"), 90.0)
    text = (
        "commit `aaaaaaaaaaaa` `Save memory`: its revert ({}) was merged and rolled out, and the loss remained "
        "(1970-01-01 00:01:30 UTC)."
    )
    assert section(told(exonerated=(cleared,)), "Not responsible after all") == text.format(
        "https://git.example/pull/7"
    )
    odd = replace(cleared, proposal=replace(PROPOSAL, url="javascript:x"))
    assert section(told(exonerated=(odd,)), "Not responsible after all") == text.format("`javascript:x`")
    none = replace(cleared, proposal=PROPOSAL)
    assert section(told(exonerated=(none,)), "Not responsible after all") == text.format("`(empty)`")


def test_what_came_with_no_commit_is_told_as_held_responsible_and_as_not_responsible_after_all() -> None:
    pin = PinFact("outside-1", ("chart <gpt> was 1.0.0",))
    assert section(told(pin=pin), "Held responsible") == "what came with no commit.\n\n- chart &lt;gpt\\> was 1.0.0"
    cleared = Exoneration(None, replace(PROPOSAL, url="https://git.example/pull/7"), 90.0, pin)
    assert section(told(exonerated=(cleared,)), "Not responsible after all") == (
        "Revert it (https://git.example/pull/7) was merged and rolled out, and the loss remained "
        "(1970-01-01 00:01:30 UTC)."
    )


PROVEN = Proof("idleInput", 0.2e6, 64.04e6, 0.31e6, gone=True)


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        (PROVEN, "| idle: waiting for input | 0.2 | 64.0 | 0.3 |\n\nThe gap is gone."),
        (
            replace(PROVEN, after_ns=12.2e6, gone=False),
            "| idle: waiting for input | 0.2 | 64.0 | 12.2 |\n\n12.0 ms of the 63.8 ms that it had grown by remain.",
        ),
        (replace(PROVEN, part="<x>"), "| `<x>` | 0.2 | 64.0 | 0.3 |\n\nThe gap is gone."),
        (replace(PROVEN, after_ns=None, gone=None), "It is to be captured again within a day of the recovery."),
        (Proof(missing=("JobEvicted", "low on <b>")), "It was not captured again: JobEvicted: low on &lt;b\\>."),
    ],
)
def test_the_step_after_the_recovery_is_told(proof: Proof, expected: str) -> None:
    assert section(told(recovery=RECOVERY, proof=proof), "The step after the recovery").endswith(expected)


def test_nothing_is_said_of_a_step_that_nothing_is_known_of() -> None:
    for proof in (None, Proof()):
        assert "The step after the recovery" not in told(recovery=RECOVERY, proof=proof)


CLOSED = replace(PROPOSAL, state=PullRequestState.CLOSED)
BACK = "Training recovered. It cost 12.3 device-hours beyond the baseline's."
WHY = "Why nothing is proposed (any more): Refused: by a person."


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"recovery": RECOVERY}, BACK),
        (
            {"recovery": replace(RECOVERY, single_variable="workers")},
            f"{BACK}\n\nWhat changed between slow and recovered: workers.",
        ),
        ({"ended_at": 9.0, "accepted": "new model"}, "Closed without a recovery: new model."),
        ({"ended_at": 9.0, "superseded": "a new run"}, "Closed without a recovery: a new run."),
        ({"ended_at": 9.0, "closed": ("Gone", "deleted")}, "Closed without a recovery: Gone: deleted."),
        ({"ended_at": 9.0}, "Closed without a recovery: ."),
        (
            {"ended_at": 9.0, "accepted": "x", "gpu_hours_lost": 4.0},
            "Closed without a recovery: x.\n\nIt cost 4 device-hours beyond the baseline's.",
        ),
        ({"blocked": ("Refused", "by a person")}, f"The incident is open.\n\n{WHY}"),
        ({"blocked": ("Refused", "by a person"), "proposal": CLOSED}, f"The incident is open.\n\n{WHY}"),
        ({"blocked": ("Refused", "by a person"), "proposal": PROPOSAL}, "The incident is open."),
        ({"proposal": CLOSED}, "The incident is open."),
    ],
)
def test_the_outcome_is_told(changes: dict[str, Any], outcome: str) -> None:
    assert section(told(**changes), "Outcome") == outcome


def test_the_value_after_the_recovery_stands_beside_the_others() -> None:
    assert "| MFU | 0.400 | 0.200 | 0.410 | 50.0 % |" in told(recovery=RECOVERY)
