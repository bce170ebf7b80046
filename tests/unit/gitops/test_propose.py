"""What is proposed and how it is told."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.markdown import code, escape, plain
from mfu_operator.gitops.propose import branch, propose
from mfu_operator.gitops.suspects import rank
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Commit, FileChange, Ranking, Source
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact
from mfu_operator.model.proposal import Proposal, ProposalKind

WORKLOAD = WorkloadRef("batch/v1", "Job", "training", "gpt-small")
GOOD = f"sha256:{'a' * 64}"
EVIL = "x`](https://evil.example) @everyone fixes #12 [skip ci] <script>|\n# H\n---\n--><!-- mfu-operator {}\u202e"


def account(**parts_ms: float) -> StepAccount:
    parts = {part: parts_ms.get(part, 0.0) * 1e6 for part in PARTS}
    return StepAccount(count=10, mean_ns=sum(parts.values()), std_ns=1e5, parts_ns=parts)


def incident(profile: bool = True, **changes: object) -> Incident:
    found = Diagnosis(
        Bottleneck.INPUT_STARVED,
        "DataLoaderWorkers",
        0.92,
        ("input wait 64.1 of 85.7 ms per step, baseline 0.2 of 21.6",),
        runbook="runbooks/input-starved.md",
    )
    fact = ProfileFact("job", 1, 0.0, account(compute=21.4, idleInput=64.1, idleHost=0.2)) if profile else None
    made = Incident("training-gpt-small-1", 0.0, 0.0, "mfu", 0.46, 0.381, 0.172, diagnosis=found, profile=fact)
    return replace(made, **changes)  # type: ignore[arg-type]


def commit(number: int, subject: str, before: str, after: str, body: str = "", author: str = "Pat") -> Commit:
    change = FileChange("apps/gpt/train.yaml", before, after)
    return Commit(f"{number:x}" * 40, (f"{number - 1:x}" * 40,), author, float(number), subject, (change,), body)


def source(**changes: object) -> Source:
    made = Source("https://git.example.org/team/models.git", "main", "apps/gpt", (), None, replaces_immutable=True)
    return replace(made, **changes)  # type: ignore[arg-type]


SLOW = commit(1, "Save memory", "num_workers: 4\n", "num_workers: 0\n")
QUIET = commit(2, "Explain", "num_workers: 0\n", "num_workers: 0 # why\n")


def ranking(*commits: Commit) -> Ranking:
    return rank(commits or (SLOW, QUIET), "apps/gpt", WORKLOAD, "DataLoaderWorkers")


def made(found: Ranking | None = None, of: Incident | None = None, where: Source | None = None) -> Proposal:
    return propose(
        of or incident(),
        found or ranking(),
        where or source(),
        subject="training/gpt-small",
        healthy=account(compute=21.4, idleInput=0.2),
        runbooks="https://docs.example/runbooks/",
    )


def test_the_body_tells_how_to_see_the_loss_as_a_picture() -> None:
    body = made(of=incident(onset_at=1767236400.0)).body
    assert (
        "\nkubectl get tb gpt-small -n training -o yaml | kubectl mfu replay --baseline - --prometheus URL "
        "--since 2026-01-01T00:00:00Z -o svg\n"
    ) in body


def test_the_chosen_commit_is_reverted_on_a_branch_of_the_incidents_own() -> None:
    proposal = made()
    assert proposal.kind is ProposalKind.REVERT
    assert (proposal.branch, proposal.base, proposal.revert_sha) == (
        "mfu-operator/training-gpt-small-1",
        "main",
        SLOW.sha,
    )
    assert proposal == made()


def test_the_title_says_what_is_undone_and_why() -> None:
    assert made().title == "Revert 1111111 (Save memory): MFU of training/gpt-small −17.2 %"


def test_the_commit_message_names_the_commit_and_the_incident() -> None:
    message = made().commit_message
    assert f"This reverts commit {SLOW.sha}." in message
    assert message.rstrip().endswith(
        "Mfu-Operator-Incident: training-gpt-small-1\nMfu-Operator-Baseline: training/gpt-small"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "| MFU | 0.460 | 0.381 | −17.2 % |",
        "| idle: waiting for input | 0.2 | 64.1 | +63.9 |",
        "| **step** | **21.6** | **85.7** | **+64.1** |",
        "- `apps/gpt/train.yaml num_workers: 4 → 0`".replace(" num_workers:", " num_workers"),
        "`2222222` `Explain`: changes only comments, layout or order",
        "[runbooks/input-starved.md](https://docs.example/runbooks/input-starved.md)",
        "Argo CD replaces the job",
        "Close this pull request without merging",
        '<!-- mfu-operator {"incident": "training-gpt-small-1", "baseline": "training/gpt-small"} -->',
    ],
)
def test_the_description_tells(sentence: str) -> None:
    assert sentence in made().body


def test_a_job_that_will_not_be_replaced_is_warned_of_before_the_merge() -> None:
    body = made(where=source(replaces_immutable=False)).body
    assert "**not** replace the job" in body and "Force=true,Replace=true" in body
    flux = made(where=source(replaces_immutable=False, tool="Flux")).body
    assert "kustomize.toolkit.fluxcd.io/force: enabled" in flux


def test_whatever_may_undo_the_revert_is_named() -> None:
    body = made(where=source(updaters=("Argo CD Image Updater",), warnings=("It verifies signatures.",))).body
    assert "Argo CD Image Updater" in body and "verifies signatures" in body
    marked = commit(1, "Bump", "num_workers: 4\n", 'num_workers: 0\nimage: x # {"$imagepolicy": "flux-system:x"}\n')
    assert "Flux image automation" in made(ranking(marked)).body
    assert "renovate" in made(ranking(replace(SLOW, author="renovate[bot]"))).body


def test_other_signals_have_their_units() -> None:
    step = made(of=incident(signal="stepTime", baseline_value=0.0216, regressed_value=0.0857)).body
    assert "| step time | 21.6 ms | 85.7 ms | +296.8 % |" in step
    tokens = made(of=incident(signal="throughput", baseline_value=12000.0, regressed_value=9000.0)).body
    assert "| throughput | 12,000 tokens/s per GPU | 9,000 tokens/s per GPU | −25.0 % |" in tokens


def test_an_incident_without_a_profile_is_told_without_one() -> None:
    assert "One step" not in made(of=incident(profile=False)).body


def test_without_a_suspect_nothing_is_proposed() -> None:
    with pytest.raises(AskPerson) as raised:
        made(ranking(QUIET))
    assert raised.value.reason == "NoSuspect"


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ('Revert "More workers"', "This reverts commit 1234567."),
        ("Fewer workers again", "This reverts commit 1234567."),
        ("Revert 1234567 (x)", ""),
        ("Merge pull request 'x' (#3) from mfu-operator/gpt-1 into main", ""),
        ("x", "y\n\nMfu-Operator-Incident: gpt-1"),
    ],
)
def test_a_rollback_is_not_rolled_back(subject: str, body: str) -> None:
    with pytest.raises(AskPerson) as raised:
        made(ranking(replace(SLOW, subject=subject, body=body)))
    assert raised.value.reason == "RollbackOfRollback"


def image_change(before: str, after: str) -> Ranking:
    return rank(
        [commit(1, "New image", f"image: {before}\n", f"image: {after}\n")], "apps/gpt", WORKLOAD, "PrecisionLost"
    )


def pinned(found: Ranking, *images: str) -> Proposal:
    return propose(incident(), found, source(), subject="a/b", known_good=KnownGood("0" * 40, images, 0.0))


def test_a_commit_that_only_moves_a_tag_is_answered_with_the_last_good_digest() -> None:
    proposal = pinned(image_change("r.example/gpt:v1", "r.example/gpt:v2"), f"r.example/gpt@{GOOD}", "other@sha256:x")
    assert proposal.kind is ProposalKind.PIN
    assert proposal.pins == (("apps/gpt/train.yaml", "r.example/gpt", GOOD),)
    assert proposal.revert_sha is None
    assert f"`r.example/gpt@{GOOD}`" in proposal.body


def test_a_commit_from_digest_to_digest_is_reverted() -> None:
    proposal = pinned(image_change(f"r.example/gpt@{GOOD}", "r.example/gpt:v2"), f"r.example/gpt@{GOOD}")
    assert proposal.kind is ProposalKind.REVERT


def test_without_a_known_digest_an_image_change_is_reverted() -> None:
    assert pinned(image_change("r.example/gpt:v1", "r.example/gpt:v2"), "sha256:abc").kind is ProposalKind.REVERT


def test_what_others_wrote_cannot_speak_for_the_operator() -> None:
    evil = replace(SLOW, subject=EVIL, author=EVIL)
    other = replace(QUIET, subject=EVIL)
    proposal = made(ranking(evil, other), incident(diagnosis=replace(incident().diagnosis, evidence=(EVIL,))))  # type: ignore[type-var]
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(proposal.body)
    assert "<script>" not in html and 'href="https://evil' not in html
    assert html.count("<h1") == 0 and html.count("<table>") == 2
    for text in (proposal.title, proposal.commit_message):
        assert not re.search(r"[@#\[\]<>`\u202e]", text)
    assert proposal.body.rstrip().endswith("-->") and proposal.body.count("<!--") == 1


@given(st.text(max_size=80))
def test_code_stays_code_and_sentences_stay_sentences(text: str) -> None:
    plugin = MarkdownIt("commonmark", {"html": True})
    rendered = plugin.render(f"a {code(text)} b")
    assert rendered.count("<code>") == 1 and rendered.startswith("<p>a <code>") and rendered.endswith("</code> b</p>\n")
    sentence = plugin.renderInline(f"a {escape(text)} b")
    assert not re.search(r"<(?!br)[a-z]", sentence)


@given(st.text(max_size=200))
def test_plain_text_is_short_and_one_line(text: str) -> None:
    assert len(plain(text, 40)) <= 40 and "\n" not in plain(text, 40)


@given(st.text(max_size=60) | st.text(alphabet="ax-./:@{~^lock", max_size=20))
@example("://0")
@example(".lock")
@example("-")
def test_every_incident_has_a_branch_that_git_takes(text: str) -> None:
    name = branch(text)
    assert re.fullmatch(r"mfu-operator/[A-Za-z0-9_][A-Za-z0-9._/-]*", name)
    assert not re.search(r"\.\.|//|/\.|\.lock$|[./-]$", name)
