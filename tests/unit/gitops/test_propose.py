"""What is proposed and how it is told."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.markdown import code, escape, plain
from mfu_operator.gitops.message import Cost, trailers
from mfu_operator.gitops.propose import branch, is_rollback, propose
from mfu_operator.gitops.telling.bars import WIDTH, step_bars
from mfu_operator.gitops.telling.details import PART_NAMES
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.baseline import ForgeKind, WorkloadRef
from mfu_operator.model.commit import Commit, FileChange, Source
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact
from mfu_operator.model.investigation import Findings, Question, Undoing
from mfu_operator.model.proposal import Edit, Proposal, ProposalKind, Review
from tests.support.repository_double import investigated

INSTALLATION = "6b1e9c52-0a7d-4c9e-8f21-1d2c3b4a5f60"
WORKLOAD = WorkloadRef("batch/v1", "Job", "training", "gpt-small")
MINIMAL = ProposalKind.MINIMAL_REVERT
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


def ranking(*commits: Commit) -> Findings:
    before = Commit("0" * 40, (), "Pat", 0.0, "Good", (FileChange("apps/gpt/train.yaml", None, "num_workers: 4\n"),))
    question = Question(source(), "0" * 40, "9" * 40, WORKLOAD, "DataLoaderWorkers")
    return investigated([before, *(commits or (SLOW, QUIET))], question)


def made(
    found: Findings | None = None,
    of: Incident | None = None,
    where: Source | None = None,
    cost: Cost | None = None,
    forge: ForgeKind | None = None,
    review: Review | None = None,
) -> Proposal:
    findings = found or ranking()
    assert findings.ranking.chosen is not None
    return propose(
        of or incident(),
        findings.ranking.chosen,
        findings,
        where or source(),
        subject="training/gpt-small",
        installation=INSTALLATION,
        healthy=account(compute=21.4, idleInput=0.2),
        runbooks="https://docs.example/runbooks/",
        cost=cost,
        forge=forge,
        review=review,
    )


def test_the_body_tells_how_to_see_the_loss_as_a_picture() -> None:
    body = made(of=incident(onset_at=1767236400.0)).body
    assert (
        "\nkubectl get tb gpt-small -n training -o yaml |\n  kubectl mfu replay --baseline - \\\n  --prometheus URL "
        "--since 2026-01-01T00:00:00Z -o svg\n"
    ) in body


def test_who_owns_the_changed_files_is_asked_unless_the_spec_says_otherwise() -> None:
    findings = ranking()
    assert findings.undoing is not None
    owned = replace(findings, undoing=replace(findings.undoing, owners=("ann", "org/ml")))
    assert made(owned).review.reviewers == ("ann", "org/ml")
    spec = Review(reviewers=("pat", "ann"), draft=True)
    assert made(owned, review=spec).review == replace(spec, reviewers=("pat", "ann", "org/ml"))
    assert made(owned, review=replace(spec, code_owners=False)).review.reviewers == ("pat", "ann")


def test_the_chosen_commit_is_reverted_on_a_branch_that_is_named_after_it() -> None:
    proposal = made()
    assert proposal.kind is ProposalKind.REVERT
    assert (proposal.base, proposal.revert_sha) == ("main", SLOW.sha)
    assert re.fullmatch(r"mfu-operator/revert-111111111111-[0-9a-f]{12}", proposal.branch)
    assert proposal == made()


def test_two_baselines_and_two_incidents_make_one_commit_on_one_branch() -> None:
    first = made()
    other = made(of=incident(id="training-other-7", regressed_value=0.2))
    assert (other.branch, other.commit_message) == (first.branch, first.commit_message)
    assert other.title != first.title


@pytest.mark.parametrize(
    "repository",
    [
        "git@git.example.org:team/models.git",
        "ssh://git@git.example.org:2222/team/models",
        "https://bot:token@git.example.org/team/models/",
    ],
)
def test_every_form_of_a_repositorys_address_gives_one_branch(repository: str) -> None:
    assert made(where=source(repository=repository)).branch == made().branch


def test_another_repository_base_commit_or_installation_is_another_branch() -> None:
    def named(
        repository: str = "https://git.example.org/team/models.git",
        base: str = "main",
        suspect: str = "1" * 40,
        installation: str = INSTALLATION,
    ) -> str:
        return branch(repository, base, suspect, installation)

    pin = (Edit("apps/gpt/job.yaml", "image: a\nseed: 1\n", f"image: a@{GOOD}\nseed: 1\n"),)
    names = {
        named(),
        named(repository="https://git.example.org/team/other.git"),
        named(base="release"),
        named(suspect="1" * 39 + "2"),
        named(installation="another-cluster"),
        branch("https://git.example.org/team/models.git", "main", "1" * 40, INSTALLATION, ProposalKind.PIN_DIGEST, pin),
        branch("https://git.example.org/team/models.git", "main", "1" * 40, INSTALLATION, MINIMAL, pin),
    }
    assert len(names) == 7


def test_what_others_change_in_the_rest_of_a_file_does_not_change_the_branch() -> None:
    edits = [Edit("a.yaml", f"w: 0\n{rest}", f"w: 4\n{rest}") for rest in ("", "seed: 1\n")]
    names = {branch("https://git.example.org/a", "main", "1" * 40, "x", MINIMAL, (edit,)) for edit in edits}
    assert len(names) == 1


def test_the_title_says_what_is_undone_and_why() -> None:
    assert made().title == "Revert 1111111 (Save memory): MFU of training/gpt-small −17.2 %"


def test_the_commit_message_names_the_commit_and_the_installation() -> None:
    message = made().commit_message
    assert message.startswith("Revert 1111111 (Save memory)\n")
    assert f"This reverts commit {SLOW.sha}." in message
    assert message.rstrip().endswith(f"Mfu-Operator-Suspect: {SLOW.sha}\nMfu-Operator-Installation: {INSTALLATION}")
    assert trailers(message) == {"Mfu-Operator-Suspect": SLOW.sha, "Mfu-Operator-Installation": INSTALLATION}


def test_a_persons_commit_has_no_trailers_of_the_operator() -> None:
    assert trailers("Revert 1a2b3c4\n\nSigned-off-by: Pat\n") == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "| MFU | 0.460 | 0.381 | −17.2 % |",
        "| idle: waiting for input | 0.2 | 64.1 | +63.9 |",
        "| **step** | **21.6** | **85.7** | **+64.1** |",
        '- `ConfigMap/files data["train.yaml"].num_workers: 4 → 0`',
        "`2222222` `Explain`: gives the workload the same",
        "The workload gets exactly what it got while it was fast.",
        "Rendered from this repository, no other workload gets anything else.",
        "[runbooks/input-starved.md](https://docs.example/runbooks/input-starved.md)",
        "Argo CD replaces the job",
        "Close this pull request without merging",
        '<!-- mfu-operator {"incident": "training-gpt-small-1", "baseline": "training/gpt-small"} -->',
    ],
)
def test_the_description_tells(sentence: str) -> None:
    assert sentence in made().body


def test_the_first_lines_say_what_since_when_at_what_cost_and_who() -> None:
    of = incident(onset_at=1767236400.0)
    first = made(of=of, cost=Cost(1.376, 4.13, 8, 1767247200.0)).body.partition("```")[0]
    for told in (
        "`training/gpt-small` has been **17.2 % slower** since 2026-01-01 03:00 UTC",
        "from 0.460 to 0.381",
        "**1.38 GPU-hours every hour** (of 8 devices) and has cost **4.13 GPU-hours** by 2026-01-01 06:00 UTC",
        "Commit `111111111111` `Save memory` by `Pat` made it slow. This pull request reverts that commit.",
        "nothing is merged automatically",
    ):
        assert told in first, told


@pytest.mark.parametrize(
    ("kind", "subject", "body", "commit_at", "request_at"),
    [
        (ForgeKind.GITHUB, "Save memory (#418)", "", "/commit/", "/pull/418"),
        (ForgeKind.GITHUB, "Merge pull request #7 from team/memory", "", "/commit/", "/pull/7"),
        (ForgeKind.GITEA, "Merge pull request 'Save memory' (#9) from memory into main", "", "/commit/", "/pulls/9"),
        (ForgeKind.GITLAB, "Merge branch 'memory'", "See merge request a/b!12", "/-/commit/", "/-/merge_requests/12"),
        (ForgeKind.BITBUCKET, "Merged in memory (pull request #3)", "", "/commits/", "/pull-requests/3"),
        (ForgeKind.GITHUB, "Save 12 (#no)", "about #5", "/commit/", None),
    ],
)  # fmt: skip
def test_the_commit_and_the_request_that_brought_it_are_linked(
    kind: ForgeKind, subject: str, body: str, commit_at: str, request_at: str | None
) -> None:
    slow = replace(SLOW, subject=subject, body=body)
    told = made(ranking(slow, QUIET), forge=kind).body
    page = "https://git.example.org/team/models"
    assert f"]({page}{commit_at}{SLOW.sha})" in told
    assert (request_at is None) == ("brought by" not in told)
    if request_at is not None:
        assert f"]({page}{request_at})" in told


def test_a_host_of_no_known_kind_is_linked_nowhere() -> None:
    assert "](https://git.example.org" not in made().body


def test_the_step_is_drawn_before_and_now_to_one_scale() -> None:
    (before, now) = [line for line in made().body.splitlines() if line.endswith((" 21.6 ms", " 85.7 ms"))]
    assert (before.count("█"), now.count("█"), now.count("▓")) == (12, 12, 36)
    assert "█ compute   ▓ idle: waiting for input   · everything else" in made().body


@given(st.lists(st.floats(0, 1e12), min_size=len(PARTS), max_size=len(PARTS)), st.booleans())
def test_whatever_a_step_is_made_of_its_bars_fit(parts_ns: list[float], known: bool) -> None:
    step = StepAccount(3, sum(parts_ns), 0.0, dict(zip(PARTS, parts_ns, strict=True)))
    drawn = step_bars(step if known else None, step, PART_NAMES)
    assert max(len(line.partition(" ms")[0]) for line in drawn.splitlines()[:2]) <= WIDTH + 24


def test_a_description_is_bounded_whatever_a_commit_holds() -> None:
    findings = ranking()
    chosen = findings.ranking.chosen
    assert chosen is not None
    long = "x" * 9000
    much = replace(
        chosen, commit=replace(SLOW, subject=long, author=long, body=long), changed=(long,) * 50, because=(long,) * 50,
        text=(long,) * 50,
    )  # fmt: skip
    undoing = Undoing(
        MINIMAL, "9" * 40, tuple(Edit(f"{n}{long}", "", "") for n in range(50)), (long,) * 50, (long,) * 50
    )
    told = made(replace(findings, ranking=replace(findings.ranking, chosen=much), undoing=undoing))
    assert len(told.body) < 30_000


def test_a_job_that_will_not_be_replaced_is_warned_of_before_the_merge() -> None:
    body = made(where=source(replaces_immutable=False)).body
    assert "**not** replace the job" in body and "Force=true,Replace=true" in body
    flux = made(where=source(replaces_immutable=False, tool="Flux")).body
    assert "kustomize.toolkit.fluxcd.io/force: enabled" in flux


def test_whatever_may_undo_the_revert_is_named() -> None:
    body = made(where=source(updaters=("Argo CD Image Updater",), warnings=("It verifies signatures.",))).body
    assert "Argo CD Image Updater" in body and "verifies signatures" in body
    findings = ranking()
    assert findings.ranking.chosen is not None
    marked = replace(findings.ranking.chosen, updaters=("Flux image automation", "renovate[bot]"))
    told = made(replace(findings, ranking=replace(findings.ranking, chosen=marked))).body
    assert "Flux image automation" in told and "renovate" in told


def test_other_signals_have_their_units() -> None:
    step = made(of=incident(signal="stepTime", baseline_value=0.0216, regressed_value=0.0857)).body
    assert "| step time | 21.6 ms | 85.7 ms | +296.8 % |" in step
    tokens = made(of=incident(signal="throughput", baseline_value=12000.0, regressed_value=9000.0)).body
    assert "| throughput | 12,000 tokens/s per GPU | 9,000 tokens/s per GPU | −25.0 % |" in tokens


def test_an_incident_without_a_profile_is_told_without_one() -> None:
    assert "One step" not in made(of=incident(profile=False)).body


def test_what_cannot_be_undone_is_for_a_person() -> None:
    with pytest.raises(AskPerson) as raised:
        made(replace(ranking(), undoing=None, declined=("RevertInsufficient", "by hand")))
    assert (raised.value.reason, raised.value.message) == ("RevertInsufficient", "by hand")


def test_what_is_left_and_what_others_get_is_told() -> None:
    undoing = Undoing(ProposalKind.REVERT, "9" * 40, (), ("Job/gpt args: 1 → 2",), ("apps/bert: ConfigMap/b x: 1 → 2",),
                      "It changes chart c.")  # fmt: skip
    body = made(replace(ranking(), undoing=undoing)).body
    assert "- `Job/gpt args: 1 → 2`" in body and "- `apps/bert: ConfigMap/b x: 1 → 2`" in body
    assert "changes other workloads too" in body and "It changes chart c" in body


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ('Revert "More workers"', "This reverts commit 1234567."),
        ("Fewer workers again", "This reverts commit 1234567."),
        ("Revert 1234567 (x)", ""),
        ("Merge pull request 'x' (#3) from mfu-operator/gpt-1 into main", ""),
        ("x", "y\n\nMfu-Operator-Incident: gpt-1"),
        ("x", "y\n\nMfu-Operator-Suspect: 1234567"),
    ],
)
def test_a_rollback_is_known_by_its_marks(subject: str, body: str) -> None:
    assert is_rollback(replace(SLOW, subject=subject, body=body))
    assert not is_rollback(SLOW)


@pytest.mark.parametrize("kind", [kind for kind in ProposalKind if kind is not ProposalKind.REVERT])
def test_what_does_not_take_the_whole_commit_back_says_what_it_does(kind: ProposalKind) -> None:
    edit = Edit("apps/gpt/job.yaml", "image: a\n", f"image: a@{GOOD}\n")
    proposal = made(replace(ranking(), undoing=Undoing(kind, "9" * 40, (edit,))))
    assert (proposal.kind, proposal.edits, proposal.base_sha, proposal.revert_sha) == (kind, (edit,), "9" * 40, None)
    assert "Revert" not in proposal.title and "This reverts" not in proposal.commit_message
    assert "- `apps/gpt/job.yaml`" in proposal.body


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


@given(st.text(max_size=60), st.text(max_size=20), st.text(alphabet="0123456789abcdef", min_size=40, max_size=64))
@example("://0", "", "0" * 40)
@example(".lock", "-", "f" * 40)
def test_every_proposal_has_a_branch_that_git_takes(repository: str, base: str, suspect: str) -> None:
    assert re.fullmatch(r"mfu-operator/revert-[0-9a-f]{12}-[0-9a-f]{12}", branch(repository, base, suspect, "x"))
