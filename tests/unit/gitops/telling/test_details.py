"""What stands below the first screen of a description."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.telling import details
from mfu_operator.gitops.telling.details import OTHERS_SHOWN
from mfu_operator.gitops.telling.story import CHANGES_SHOWN, LONGEST_LINE, Story, listed, moved, short, token
from mfu_operator.model.account import StepAccount
from mfu_operator.model.commit import Commit, Ranking, Source, Suspect
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact
from mfu_operator.model.investigation import Undoing
from mfu_operator.model.proposal import ProposalKind

INCIDENT = Incident("gpt-1", 60.0, 0.0, "mfu", 0.4, 0.2, 0.5)
SOURCE = Source("https://git.example/team/models", "main", "apps/gpt", (), None)


def suspect(sha: str, *because: str, updaters: tuple[str, ...] = ()) -> Suspect:
    commit = Commit(sha * 40, (), "Pat", 0.0, f"commit {sha}", ())
    return Suspect(commit, 0.0, (), because, updaters=updaters)


CHOSEN = suspect("a")
STORY = Story(
    Undoing(ProposalKind.REVERT, "b" * 40), INCIDENT, Ranking((CHOSEN,), CHOSEN, ""), CHOSEN, SOURCE, "ml/gpt",
    "cluster", None, "",
)  # fmt: skip


def account(**parts_ms: float) -> StepAccount:
    parts = {part: amount * 1e6 for part, amount in parts_ms.items()}
    return StepAccount(10, sum(parts.values()), 0.0, parts)


def rows(table: str) -> list[str]:
    return table.splitlines()[2:]


@pytest.mark.parametrize(
    ("healthy", "now", "expected"),
    [
        (
            account(compute=20, idleInput=0.2),
            account(compute=20, idleInput=60.24),
            [
                "| compute | 20.0 | 20.0 | 0.0 |",
                "| idle: waiting for input | 0.2 | 60.2 | +60.0 |",
                "| **step** | **20.2** | **80.2** | **+60.0** |",
            ],
        ),
        (
            account(compute=20),
            account(compute=10),
            ["| compute | 20.0 | 10.0 | −10.0 |", "| **step** | **20.0** | **10.0** | **−10.0** |"],
        ),
        (None, account(compute=20), ["| compute | – | 20.0 | – |", "| **step** | **–** | **20.0** | **–** |"]),
        (
            account(compute=0.05),
            account(h2d=0.049),
            ["| compute | 0.1 | 0.0 | −0.1 |", "| **step** | **0.1** | **0.0** | **0.0** |"],
        ),
        (None, account(h2d=0.05), ["| copies host → device | – | 0.1 | – |", "| **step** | **–** | **0.1** | **–** |"]),
        (account(compute=1), account(compute=1.05),
         ["| compute | 1.0 | 1.1 | +0.1 |", "| **step** | **1.0** | **1.1** | **+0.1** |"]),
    ],
)  # fmt: skip
def test_the_parts_of_a_step_stand_side_by_side(
    healthy: StepAccount | None, now: StepAccount, expected: list[str]
) -> None:
    assert rows(details.account_table(healthy, now)) == expected


def effect(**changes: Any) -> list[str]:
    return details.effect(replace(STORY, undoing=replace(STORY.undoing, **changes))).splitlines()


def test_the_effect_tells_what_is_left_what_others_get_and_what_a_person_has_to_know() -> None:
    assert len(effect()) == 5
    assert not any("Warning" in line for line in effect())
    left = effect(remaining=("Job/gpt a: 1 → 2",))
    assert left[4:6] == ["- `Job/gpt a: 1 → 2`", ""]
    also = effect(also=("Job/bert a",))
    assert [line for line in also if line.startswith("> **Warning:**")] and also[-1] == "- `Job/bert a`"
    assert effect(remark="by <hand>")[-1] == "> **Warning:** by &lt;hand\\>"


def test_why_it_was_none_of_the_other_commits_is_told_of_the_first_ones() -> None:
    def told(*others: Suspect, of: Suspect | None = CHOSEN) -> list[str]:
        ranking = Ranking((*others, *([of] if of else [])), of, "")
        return details.other_commits(replace(STORY, ranking=ranking, suspect=of)).splitlines()

    assert told()[0] == "### Why no other" and len(told()) == 3
    assert told(of=None)[0] == "### Why no commit" and told(of=None) != told()
    assert told(suspect("b", "<same>", "more"), suspect("c")) == [
        "### Why no other",
        "",
        "- `bbbbbbb` `commit b`: &lt;same\\>",
        "- `ccccccc` `commit c`: gives the workload the same",
    ]
    assert told(suspect("b", "x"), of=None) == ["### Why no commit", "", "- `bbbbbbb` `commit b`: x"]
    many = [suspect("b") for _ in range(OTHERS_SHOWN)]
    assert len(told(*many)) == 2 + OTHERS_SHOWN
    assert told(*many, suspect("c"), suspect("d"))[-1] == "- and 2 more"


def after(source: Source = SOURCE, of: Suspect | None = CHOSEN) -> str:
    return details.after_merging(replace(STORY, source=source, suspect=of))


def test_what_follows_a_merge_is_told_by_how_the_delivery_replaces_the_job() -> None:
    assert "1. Argo CD syncs the branch `main`." in after() and "\n3. " in after()
    assert "Warning" not in after() and "controller replaces" in after()
    assert "\n2. Flux replaces the job" in after(replace(SOURCE, tool="Flux", replaces_immutable=True))
    assert "Warning" not in after(replace(SOURCE, replaces_immutable=True))
    stuck = replace(SOURCE, replaces_immutable=False)
    assert "\n2. Argo CD will **not** replace the job" in after(stuck)
    assert "Force=true,Replace=true" in after(stuck) and "fluxcd" not in after(stuck)
    assert "fluxcd.io/force: enabled" in after(replace(stuck, tool="Flux"))


def test_whatever_may_stand_in_the_way_is_warned_of_the_job_first() -> None:
    source = replace(SOURCE, replaces_immutable=False, updaters=("Updater",), warnings=("by <hand>",))
    warnings = [line for line in after(source, suspect("a", updaters=("Bot",))).splitlines() if "Warning" in line]
    assert [line.split()[2] for line in warnings] == ["a", "Updater", "Bot", "by"]
    assert "Bot" not in after(source, None)
    assert after(source).count("\n\n> **Warning:**") == 3


DIAGNOSIS = Diagnosis(Bottleneck.INPUT_STARVED, "DataLoaderWorkers", 0.92, ("input <wait>",), runbook="runbooks/a.md")


def explained(runbooks: str = "", **changes: Any) -> str:
    diagnosis = replace(DIAGNOSIS, **changes)
    return details.explanation(replace(STORY, incident=replace(INCIDENT, diagnosis=diagnosis), runbooks=runbooks))


def test_a_diagnosis_is_told_with_evidence_and_runbook() -> None:
    head = "### Diagnosis\n\n`InputStarved`, cause `DataLoaderWorkers`, confidence 92%."
    assert explained() == f"{head}\n\n- input &lt;wait\\>\n\nRunbook: `kubectl mfu runbook a`"
    assert explained("https://docs/r/").endswith("Runbook: [runbooks/a.md](https://docs/r/a.md)")
    assert explained(evidence=(), runbook=None) == head
    assert explained(runbook=None) == f"{head}\n\n- input &lt;wait\\>"
    assert explained(evidence=(), runbook=None, cause=None) == "### Diagnosis\n\n`InputStarved`, confidence 92%."
    assert explained(bottleneck=None) == details.explanation(STORY) == ""


def test_what_was_measured_and_one_step_are_tables() -> None:
    assert rows(details.numbers(STORY).partition("\n\n")[2]) == ["| MFU | 0.400 | 0.200 | −50.0 % |"]
    assert details.step(STORY) == ""
    assert details.step(replace(STORY, incident=replace(INCIDENT, profile=ProfileFact("job", 1, 0.0)))) == ""
    profile = ProfileFact("job", 1, 0.0, account(compute=20))
    profiled = replace(STORY, incident=replace(INCIDENT, profile=profile))
    assert details.step(profiled).startswith("### One step\n\n| part of the step, ms |")
    assert details.step(profiled).endswith("Mean of 10 profiled steps, the account of the device.")
    by_ranges = replace(profile, account=replace(account(compute=20), account_from="nvtx"))
    told = details.step(replace(STORY, incident=replace(INCIDENT, profile=by_ranges)))
    assert told.endswith("the account of the training thread's ranges.")


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("a/b-1.2", "a/b-1.2"),
        ("a--b", "a-b"),
        ("a -->b", "a-b"),
        ("a/../b", "a/b"),
        ("a./b", "a/b"),
        ("-.a./", "a"),
        ("é", ""),
    ],
)
def test_a_token_ends_nothing(text: str, quiet: str) -> None:
    assert token(text) == quiet


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [(0.4, 0.2, "−50.0 %"), (0.2, 0.4, "+100.0 %"), (0.4, 0.4, "−0.0 %"), (0.0, 0.4, "−0.0 %")],
)
def test_how_far_the_signal_moved_has_its_sign(before: float, now: float, told: str) -> None:
    assert moved(replace(INCIDENT, baseline_value=before, regressed_value=now)) == told


def test_what_others_wrote_is_short() -> None:
    assert short("a\nb") == "a b"
    assert short("x" * LONGEST_LINE) == "x" * LONGEST_LINE
    assert short("x" * (LONGEST_LINE + 1)) == "x" * (LONGEST_LINE - 1) + "…"
    assert listed(["a", "b"]) == ["- `a`", "- `b`"]
    assert len(listed(["a"] * CHANGES_SHOWN)) == CHANGES_SHOWN
    assert listed(["a"] * (CHANGES_SHOWN + 2))[CHANGES_SHOWN:] == ["- and 2 more"]
