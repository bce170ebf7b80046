"""How a proposal is told: title, commit message and the pull request's description."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from mfu_operator.gitops.markdown import code, escape, plain, table
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.baseline import Signal
from mfu_operator.model.commit import Commit, Ranking, Source, Suspect
from mfu_operator.model.incident import Incident
from mfu_operator.model.proposal import ProposalKind

OTHERS_SHOWN = 10
CHANGES_SHOWN = 10
"""Lines of each list; how many more there are is said."""

_SUBJECT = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
"""Names as Kubernetes has them, which a shell and a forge leave as they are."""

SHOWN_BEFORE_S = 3 * 3600.0
"""How much of the time before a loss its picture shows at most."""

_PARTS = {
    "compute": "compute",
    "communication": "communication, exposed",
    "h2d": "copies host → device",
    "d2h": "copies device → host",
    "d2d": "copies device → device",
    "memset": "memset",
    "idleInput": "idle: waiting for input",
    "idleSync": "idle: synchronisation",
    "idleAlloc": "idle: allocation",
    "idleHost": "idle: other host work",
    "idleLaunch": "idle: launch latency",
    "idleUnknown": "idle: unknown",
}


@dataclass(frozen=True, slots=True)
class Story:
    """All that a proposal tells of. `subject` names the baseline ("training/gpt-small"); `runbooks` is the address of
    the folder of runbooks, "" where there is none."""

    kind: ProposalKind
    incident: Incident
    ranking: Ranking
    suspect: Suspect
    source: Source
    subject: str
    healthy: StepAccount | None
    runbooks: str
    pins: tuple[tuple[str, str, str], ...] = ()


def title(story: Story) -> str:
    """One line, at most 120 characters of a forge's alphabet."""
    commit, incident = story.suspect.commit, story.incident
    verb = "Revert" if story.kind is ProposalKind.REVERT else "Pin the last good image before"
    loss = f"{_signal_name(incident.signal)} of {plain(story.subject, 40)} {_moved(incident)}"
    return f"{verb} {commit.sha[:7]} ({plain(commit.subject, 40)}): {loss}"


def commit_message(story: Story) -> str:
    """Subject, reason and trailers."""
    commit, incident = story.suspect.commit, story.incident
    diagnosis = incident.diagnosis
    cause = f"{diagnosis.bottleneck} ({diagnosis.cause})" if diagnosis and diagnosis.bottleneck else "not diagnosed"
    before, since = (_value(incident.signal, value) for value in (incident.baseline_value, incident.regressed_value))
    undone = (
        f"This reverts commit {commit.sha}."
        if story.kind is ProposalKind.REVERT
        else f"This pins the image that ran before commit {commit.sha}."
    )
    return "\n".join(
        [
            title(story),
            "",
            undone,
            "",
            f"{_signal_name(incident.signal)}: {before} before, {since} since. Bottleneck: {cause}.",
            "",
            f"Mfu-Operator-Incident: {token(incident.id)}",
            f"Mfu-Operator-Baseline: {token(story.subject)}",
            "",
        ]
    )


def body(story: Story) -> str:
    """The description: what was measured, what was found, what happens next, how to say no."""
    sections = [
        _summary(story),
        _numbers(story),
        _diagnosis(story),
        _account(story),
        _suspect(story),
        _others(story),
        _after_merging(story),
        _no(),
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


def token(text: str) -> str:
    """An id with nothing in it that ends a comment, a trailer or a ref name."""
    quiet = re.sub(r"[^A-Za-z0-9._/-]", "-", text)
    return re.sub(r"[-./]+", lambda run: "/" if "/" in run[0] else run[0][0], quiet).strip("-./")


def account_table(healthy: StepAccount | None, now: StepAccount) -> str:
    """The step's parts in milliseconds side by side; parts below 0.05 ms on both sides are left out."""
    rows = [
        (
            _PARTS[part],
            *_cells(None if healthy is None else healthy.parts_ns.get(part, 0.0), now.parts_ns.get(part, 0.0)),
        )
        for part in PARTS
        if max(now.parts_ns.get(part, 0.0), healthy.parts_ns.get(part, 0.0) if healthy else 0.0) >= 50_000
    ]
    total = tuple(f"**{cell}**" for cell in _cells(None if healthy is None else healthy.mean_ns, now.mean_ns))
    return table(("part of the step, ms", "baseline", "now", "difference"), [*rows, ("**step**", *total)])


def _summary(story: Story) -> str:
    commit = story.suspect.commit
    did = "reverts" if story.kind is ProposalKind.REVERT else "pins the image that ran before"
    text = f"Training of {code(story.subject)} became slower, and this pull request {did} the commit held responsible."
    pins = "".join(f"\n- {code(path)}: {code(f'{image}@{digest}')}" for path, image, digest in story.pins)
    return f"{text}\n\n**Suspect:** {code(commit.sha[:12])} {code(commit.subject)} by {code(commit.author)}{pins}"


def _numbers(story: Story) -> str:
    incident = story.incident
    row = (
        _signal_name(incident.signal),
        _value(incident.signal, incident.baseline_value),
        _value(incident.signal, incident.regressed_value),
        f"{_moved(incident)}",
    )
    measured = table(("", "baseline", "now", "change"), [row])
    drawn = ""
    if _SUBJECT.fullmatch(story.subject):
        drawn = f"\n\nAs a picture:\n\n```\n{picture_command(story.subject, incident.onset_at)}\n```"
    return f"### What was measured\n\n{measured}{drawn}"


def _diagnosis(story: Story) -> str:
    diagnosis = story.incident.diagnosis
    if diagnosis is None or diagnosis.bottleneck is None:
        return ""
    cause = f", cause {code(diagnosis.cause)}" if diagnosis.cause else ""
    lines = [f"### Diagnosis\n\n{code(diagnosis.bottleneck)}{cause}, confidence {diagnosis.confidence:.0%}."]
    lines.extend(f"- {escape(line)}" for line in diagnosis.evidence)
    if diagnosis.runbook:
        lines.append("\n" + _runbook(diagnosis.runbook, story.runbooks))
    return "\n".join([lines[0], "", *lines[1:]]) if len(lines) > 1 else lines[0]


def _runbook(runbook: str, base: str) -> str:
    name = token(runbook)
    if not base:
        return f"Runbook: {code(name)}"
    return f"Runbook: [{escape(name)}]({base.rstrip('/')}/{name.removeprefix('runbooks/')})"


def _account(story: Story) -> str:
    profile = story.incident.profile
    if profile is None or profile.account is None:
        return ""
    now = profile.account
    of = "the training thread's ranges" if now.account_from == "nvtx" else "the device"
    note = f"Mean of {now.count} profiled steps, the account of {of}."
    return f"### One step\n\n{account_table(story.healthy, now)}\n\n{note}"


def _suspect(story: Story) -> str:
    suspect = story.suspect
    changed = [f"- {code(change)}" for change in suspect.changed[:CHANGES_SHOWN]]
    if len(suspect.changed) > CHANGES_SHOWN:
        changed.append(f"- and {len(suspect.changed) - CHANGES_SHOWN} more")
    why = [f"- {escape(reason)}" for reason in suspect.because[:CHANGES_SHOWN]]
    return "\n".join(["### Why this commit", "", "It changes", "", *changed, "", "and was chosen because of", "", *why])


def _others(story: Story) -> str:
    others = [suspect for suspect in story.ranking.suspects if suspect is not story.suspect]
    if not others:
        return "### Why no other\n\nIt is the only commit between the last good revision and the onset."
    lines = [
        f"- {code(other.commit.sha[:7])} {code(other.commit.subject)}: "
        f"{escape(other.because[0] if other.because else 'changes nothing that a step sees')}"
        for other in others[:OTHERS_SHOWN]
    ]
    if len(others) > OTHERS_SHOWN:
        lines.append(f"- and {len(others) - OTHERS_SHOWN} more")
    return "\n".join(["### Why no other", "", *lines])


def _after_merging(story: Story) -> str:
    source, tool = story.source, escape(story.source.tool)
    lines = [
        f"1. {tool} syncs the branch {code(source.branch)}.",
        f"2. {_replacement(source.replaces_immutable, tool)}",
    ]
    lines.append("3. The operator measures against the same baseline and records whether training recovered.")
    warnings = [
        f"> **Warning:** {escape(updater)} writes images to this path by itself and may undo this change. Pause it or "
        "let it skip the version."
        for updater in (*source.updaters, *_updaters(story.suspect.commit))
    ]
    warnings.extend(f"> **Warning:** {escape(warning)}" for warning in source.warnings)
    if source.replaces_immutable is False:
        warnings.insert(0, f"> **Warning:** {_not_replaced(tool)}")
    return "\n".join(["### What happens after merging", "", *lines, *(f"\n{warning}" for warning in warnings)])


def _updaters(commit: Commit) -> Iterator[str]:
    """Tools that leave their mark on the commit itself."""
    if any("$imagepolicy" in (change.after or "") for change in commit.changes):
        yield "Flux image automation"
    if re.search(r"\[bot\]|^fluxcdbot|image-updater|renovate|dependabot", commit.author, re.IGNORECASE):
        yield commit.author


def _replacement(replaces: bool | None, tool: str) -> str:
    if replaces is None:
        return "The workload's controller replaces the pods."
    if replaces:
        return f"{tool} replaces the job; it starts again from its last checkpoint."
    return f"{tool} will **not** replace the job by itself (see the warning)."


def _not_replaced(tool: str) -> str:
    mark = "`kustomize.toolkit.fluxcd.io/force: enabled`"
    if tool != "Flux":
        mark = "`argocd.argoproj.io/sync-options: Force=true,Replace=true`"
    return (
        f"a job's template cannot be changed in place, and the workload lacks the annotation {mark}. After merging, "
        "the sync fails until the annotation is added, or the job is deleted by hand, or given a new name."
    )


def _no() -> str:
    return (
        "### To say no\n\nClose this pull request without merging: the operator takes that as the answer for this "
        "incident and does not ask again. A commit pushed to the branch makes it yours; the operator then leaves it "
        "alone."
    )


def _signal_name(signal: str) -> str:
    return {Signal.MFU: "MFU", Signal.STEP_TIME: "step time", Signal.THROUGHPUT: "throughput"}.get(
        Signal(signal), signal
    )


def _value(signal: str, value: float) -> str:
    if signal == Signal.STEP_TIME:
        return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"
    return f"{value:.3f}" if signal == Signal.MFU else f"{value:,.0f} tokens/s per GPU"


def _moved(incident: Incident) -> str:
    change = incident.regressed_value / incident.baseline_value - 1 if incident.baseline_value else 0.0
    return f"{'+' if change > 0 else '−'}{abs(change):.1%}".replace("%", " %")


def _cells(before: float | None, now: float) -> tuple[str, str, str]:
    if before is None:
        return "–", f"{now / 1e6:.1f}", "–"
    difference = (now - before) / 1e6
    sign = "+" if difference >= 0.05 else "−" if difference <= -0.05 else ""
    return f"{before / 1e6:.1f}", f"{now / 1e6:.1f}", f"{sign}{abs(difference):.1f}"
