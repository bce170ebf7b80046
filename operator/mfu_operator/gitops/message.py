"""How a proposal is told: title, commit message and the pull request's description.

The description begins with what a reviewer needs within a minute who has never heard of the operator: what got slower,
since when and at what cost, which commit did it by which keys, why that one, what else the change touches, what to
check and how to say no. What explains it further follows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import ndiff
from hashlib import sha256

from mfu_operator.gitops.markdown import code, escape, plain
from mfu_operator.gitops.telling import details
from mfu_operator.gitops.telling.bars import level_bars, step_bars
from mfu_operator.gitops.telling.course import columns
from mfu_operator.gitops.telling.details import PART_NAMES, account_table
from mfu_operator.gitops.telling.links import brought_by, commit_link, kind_of, page, request_link
from mfu_operator.gitops.telling.story import CHANGES_SHOWN, Cost, Story, listed, moved, short, token
from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.baseline import Signal
from mfu_operator.model.commit import Suspect
from mfu_operator.model.proposal import Edit, ProposalKind

__all__ = ["Cost", "Story", "account_table", "body", "commit_message", "marker", "picture_command", "title", "trailers"]

_SUBJECT = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
"""Names as Kubernetes has them, which a shell and a forge leave as they are."""

SUSPECT_TRAILER, INSTALLATION_TRAILER = "Mfu-Operator-Suspect", "Mfu-Operator-Installation"
"""In the message of a proposal's commit: which commit it undoes, and for which cluster."""

SHOWN_BEFORE_S = 3 * 3600.0
"""How much of the time before a loss its picture shows at most."""


def title(story: Story) -> str:
    """One line, at most 120 characters of a forge's alphabet."""
    incident = story.incident
    loss = f"{signal_name(incident.signal)} of {plain(story.subject, 40)} {moved(incident)}"
    return f"{_undoes(story)}: {loss}"


def commit_message(story: Story) -> str:
    """Subject, what is undone, and trailers: of the commit alone, so that every baseline makes the same branch."""
    if story.suspect is None:
        told = "\n".join(f"This sets back what came with no commit: {each}." for each in story.undoing.pins)
        return _message(story, told, pin_id(story.undoing.edits))
    commit = story.suspect.commit
    undone = {
        ProposalKind.REVERT: f"This reverts commit {commit.sha}.",
        ProposalKind.MINIMAL_REVERT: f"This takes back the keys of commit {commit.sha} that made the step slower.",
    }.get(story.undoing.kind, f"This pins what ran before commit {commit.sha}.")
    return _message(story, undone, commit.sha)


def _message(story: Story, undone: str, suspect: str) -> str:
    trailing = [f"{SUSPECT_TRAILER}: {suspect}", f"{INSTALLATION_TRAILER}: {token(story.installation)}", ""]
    return "\n".join([_undoes(story), "", undone, "", *trailing])


def pin_id(edits: Sequence[Edit]) -> str:
    """What stands for the commit where there is none: the same for the same lines, 40 digits after `outside-`."""
    facts = "\0".join(fact for edit in edits for fact in (edit.path, *changed_lines(edit)))
    return f"outside-{sha256(facts.encode()).hexdigest()[:40]}"


def changed_lines(edit: Edit) -> list[str]:
    """The lines of an edit that go and come."""
    told = ndiff((edit.before or "").splitlines(), (edit.after or "").splitlines())
    return [line for line in told if line[:2] in ("- ", "+ ")]


def trailers(commit_text: str) -> Mapping[str, str]:
    """The operator's own trailers in a commit's message; empty where it is not the operator's."""
    found = re.finditer(rf"^({SUSPECT_TRAILER}|{INSTALLATION_TRAILER}): (\S+)\s*$", commit_text, re.MULTILINE)
    return {line[1]: line[2] for line in found}


def body(story: Story) -> str:
    """The description, bounded: some ten thousand characters at most."""
    sections = [
        _summary(story),
        _pictures(story),
        _suspect(story),
        details.effect(story),
        _check(story),
        details.after_merging(story),
        _no(),
        "---",
        details.numbers(story),
        details.explanation(story),
        details.step(story),
        details.other_commits(story),
        _series(story),
        marker(story.incident.id, story.subject),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def picture_command(subject: str, onset_s: float) -> str:
    """The shell command that draws the incident's readings, from three hours before its onset on.

    Args:
        subject: namespace and name of the baseline ("training/gpt-small").
        onset_s: Unix time.
    """
    namespace, _, name = subject.partition("/")
    since = datetime.fromtimestamp(onset_s - SHOWN_BEFORE_S, UTC)
    return (
        f"kubectl get tb {name} -n {namespace} -o yaml | "
        f"kubectl mfu replay --baseline - --prometheus URL --since {since:%Y-%m-%dT%H:%M:%SZ} -o svg"
    )


def marker(incident_id: str, subject: str) -> str:
    """The machine-readable footer."""
    return f"<!-- mfu-operator {json.dumps({'incident': token(incident_id), 'baseline': token(subject)})} -->"


def _undoes(story: Story) -> str:
    if story.suspect is None:
        return f"{_ALONE.get(story.undoing.kind, 'Pin the last good image')}"
    commit = story.suspect.commit
    return f"{_VERBS[story.undoing.kind]} {commit.sha[:7]} ({plain(commit.subject, 40)})"


_VERBS = {
    ProposalKind.REVERT: "Revert",
    ProposalKind.MINIMAL_REVERT: "Undo the slow keys of",
    ProposalKind.PIN_DIGEST: "Pin the last good image before",
    ProposalKind.PIN: "Pin the last good image before",
    ProposalKind.PIN_CHART: "Pin the last good chart before",
    ProposalKind.PIN_PARAMETER: "Pin the last good parameter before",
}
_ALONE = {ProposalKind.PIN_CHART: "Pin the last good chart", ProposalKind.PIN_PARAMETER: "Pin the last good parameters"}
_MEASURED = {
    Signal.MFU: "MFU (model FLOPs utilisation, the share of the devices' peak that training uses) fell",
    Signal.STEP_TIME: "the time of one step rose",
    Signal.THROUGHPUT: "throughput fell",
}
_DOES = {
    ProposalKind.REVERT: "reverts that commit",
    ProposalKind.MINIMAL_REVERT: "takes back, of that commit, the keys that made it slower",
}


def _summary(story: Story) -> str:
    """What got slower, since when, what it costs, and which commit did it."""
    incident = story.incident
    since = _time(incident.onset_at)
    before, now = (value(incident.signal, amount) for amount in (incident.baseline_value, incident.regressed_value))
    slower = f"Training job {code(story.subject)} has been **{incident.drop:.1%} slower** since {since}".replace(
        "%", " %"
    )
    measured = _MEASURED[Signal(incident.signal)]
    did = _DOES.get(story.undoing.kind, "pins what ran before it")
    files = "\n".join(f"- {code(short(edit.path))}" for edit in story.undoing.edits[:CHANGES_SHOWN])
    changes = f" It changes\n\n{files}" if files else ""
    return (
        f"{slower}: {measured} from {before} to {now}.{_cost(story.cost)}\n\n"
        f"{_culprit(story, did)}{changes}\n\n"
        "It was opened by mfu-operator, which watches how fast training runs; nothing is merged automatically."
    )


def _culprit(story: Story, did: str) -> str:
    if story.suspect is not None:
        return f"Commit {_commit(story, story.suspect)} made it slow. This pull request {did}."
    return (
        "This came with no commit:\n\n"
        + "\n".join(listed(story.undoing.pins))
        + "\n\nThis pull request pins what ran while it was fast."
    )


def _cost(cost: Cost | None) -> str:
    if cost is None or cost.per_hour <= 0:
        return ""
    devices = "1 device" if cost.devices == 1 else f"{cost.devices} devices"
    return (
        f" That wastes **{cost.per_hour:.3g} GPU-hours every hour** (of {devices}) and has cost "
        f"**{cost.so_far:.3g} GPU-hours** by {_time(cost.at_s)}."
    )


def _commit(story: Story, suspect: Suspect) -> str:
    """The commit with its link, subject, author, and the pull request that brought it."""
    commit, kind = suspect.commit, kind_of(story.source.repository, story.forge)
    where = page(story.source.repository, story.forge_address)
    link = commit_link(where, kind, commit.sha)
    name = code(commit.sha[:12])
    told = f"{f'[{name}]({link})' if link else name} {code(short(commit.subject))} by {code(short(commit.author))}"
    number = brought_by(commit)
    if number is None:
        return told
    request = request_link(where, kind, number)
    return f"{told}, brought by {f'[pull request {number}]({request})' if request else f'pull request {number}'},"


def _pictures(story: Story) -> str:
    """The level before and now, its course in between, and one step before and now."""
    incident = story.incident
    levels = level_bars(
        [
            ("before", incident.baseline_value, value(incident.signal, incident.baseline_value)),
            ("now", incident.regressed_value, value(incident.signal, incident.regressed_value)),
        ]
    )
    drawn = f"{signal_name(incident.signal)}, slow since {_time(incident.onset_at)}\n\n{levels}"
    course = columns(story.course, incident.onset_at, lambda amount: value(incident.signal, amount))
    drawn += f"\n\n{course}" if course else ""
    profile = incident.profile
    if profile is not None and profile.account is not None and profile.account.mean_ns > 0:
        drawn += f"\n\nOne training step\n\n{step_bars(story.healthy, profile.account, PART_NAMES)}"
    return f"```text\n{drawn}\n```"


def _suspect(story: Story) -> str:
    suspect = story.suspect
    lines = ["### Why this commit" if suspect else "### Why this", ""]
    diagnosis = story.incident.diagnosis
    if diagnosis is not None and diagnosis.bottleneck is not None:
        lines += [f"The slow step was recorded: {escape(short(diagnosis.evidence[0]))}." if diagnosis.evidence else "",
                  ""]  # fmt: skip
    if suspect is None:
        return "\n".join([*lines, escape(story.ranking.because)])
    lines += ["Of what the workload gets, the commit changed", "", *listed(suspect.changed)]
    if suspect.text:
        lines += ["", "by these keys of the repository", "", *listed(suspect.text)]
    why = [f"- {escape(short(reason))}" for reason in suspect.because[:CHANGES_SHOWN]]
    return "\n".join([*lines, "", _among(len(story.ranking.suspects)), "", *why])


def _among(count: int) -> str:
    among = f"Of the {count} commits" if count > 1 else "Of one commit"
    return f"{among} between the last revision that was fast and the first that was slow, it was chosen because"


def _check(story: Story) -> str:
    asked = f"Ask {code(short(story.suspect.commit.author))}. " if story.suspect else ""
    lines = [
        "### What to check before merging",
        "",
        f"- Was the change meant, at this price? {asked}If it was, close this pull request.",
        "- Does the diff take back what is named above, and nothing that you need?",
    ]
    if story.undoing.also:
        lines.append("- Other workloads change as well: their owners should know.")
    lines.append("- The job restarts when this is rolled out: is now a good time, and is there a recent checkpoint?")
    return "\n".join(lines)


def _no() -> str:
    return (
        "### To say no\n\nClose this pull request without merging: the operator takes that as the answer for this "
        "commit and does not ask again. `kubectl mfu snooze` puts it off. A commit pushed to the branch makes it "
        "yours; the operator then leaves it alone. Should training recover before the merge, the "
        "operator closes it itself."
    )


def _series(story: Story) -> str:
    if not _SUBJECT.fullmatch(story.subject):
        return ""
    command = picture_command(story.subject, story.incident.onset_at)
    lines = command.replace(" | ", " |\n  ").replace(" --prometheus", " \\\n  --prometheus")
    return f"### The readings over time\n\nThis command draws them:\n\n```\n{lines}\n```"


def _time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
