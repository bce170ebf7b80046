"""How a proposal is told: title, commit message and the pull request's description."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mfu_operator.gitops.markdown import code, escape, plain, table
from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.commit import Ranking, Source, Suspect
from mfu_operator.model.incident import Incident
from mfu_operator.model.investigation import Undoing
from mfu_operator.model.proposal import ProposalKind

OTHERS_SHOWN = 10
CHANGES_SHOWN = 10
"""Lines of each list; how many more there are is said."""

_SUBJECT = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
"""Names as Kubernetes has them, which a shell and a forge leave as they are."""

SUSPECT_TRAILER, INSTALLATION_TRAILER = "Mfu-Operator-Suspect", "Mfu-Operator-Installation"
"""In the message of a proposal's commit: which commit it undoes, and for which cluster."""

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
    """All that a proposal tells of. `subject` names the baseline ("training/gpt-small"), `installation` the operator's
    cluster; `runbooks` is the address of the folder of runbooks, "" where there is none."""

    undoing: Undoing
    incident: Incident
    ranking: Ranking
    suspect: Suspect
    source: Source
    subject: str
    installation: str
    healthy: StepAccount | None
    runbooks: str


def title(story: Story) -> str:
    """One line, at most 120 characters of a forge's alphabet."""
    incident = story.incident
    loss = f"{signal_name(incident.signal)} of {plain(story.subject, 40)} {_moved(incident)}"
    return f"{_undoes(story)}: {loss}"


def commit_message(story: Story) -> str:
    """Subject, what is undone, and trailers: of the commit alone, so that every baseline makes the same branch."""
    commit = story.suspect.commit
    undone = {
        ProposalKind.REVERT: f"This reverts commit {commit.sha}.",
        ProposalKind.MINIMAL_REVERT: f"This takes back the keys of commit {commit.sha} that made the step slower.",
    }.get(story.undoing.kind, f"This pins what ran before commit {commit.sha}.")
    return "\n".join(
        [
            _undoes(story),
            "",
            undone,
            "",
            f"{SUSPECT_TRAILER}: {commit.sha}",
            f"{INSTALLATION_TRAILER}: {token(story.installation)}",
            "",
        ]
    )


def trailers(commit_text: str) -> Mapping[str, str]:
    """The operator's own trailers in a commit's message; empty where it is not the operator's."""
    found = re.finditer(rf"^({SUSPECT_TRAILER}|{INSTALLATION_TRAILER}): (\S+)\s*$", commit_text, re.MULTILINE)
    return {line[1]: line[2] for line in found}


def body(story: Story) -> str:
    """The description: what was measured, what was found, what happens next, how to say no."""
    sections = [
        _summary(story),
        _numbers(story),
        _diagnosis(story),
        _account(story),
        _suspect(story),
        _others(story),
        _effect(story),
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


def _undoes(story: Story) -> str:
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
_DOES = {
    ProposalKind.REVERT: "reverts the commit held responsible",
    ProposalKind.MINIMAL_REVERT: "takes back, of the commit held responsible, the keys that made it slower",
}


def _summary(story: Story) -> str:
    commit = story.suspect.commit
    did = _DOES.get(story.undoing.kind, "pins what ran before the commit held responsible")
    text = f"Training of {code(story.subject)} became slower, and this pull request {did}."
    files = "".join(f"\n- {code(edit.path)}" for edit in story.undoing.edits)
    return f"{text}\n\n**Suspect:** {code(commit.sha[:12])} {code(commit.subject)} by {code(commit.author)}{files}"


def _numbers(story: Story) -> str:
    incident = story.incident
    row = (
        signal_name(incident.signal),
        value(incident.signal, incident.baseline_value),
        value(incident.signal, incident.regressed_value),
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
    lines = ["### Why this commit", "", "It changes what the workload gets", "", *_listed(suspect.changed)]
    if suspect.text:
        lines += ["", "by these keys of the repository", "", *_listed(suspect.text)]
    why = [f"- {escape(reason)}" for reason in suspect.because[:CHANGES_SHOWN]]
    return "\n".join([*lines, "", "and was chosen because of", "", *why])


def _effect(story: Story) -> str:
    """What the proposal does when it is rendered: what is left, and what it does to others."""
    undoing = story.undoing
    lines = ["### What it does, rendered before it was proposed", ""]
    if undoing.remaining:
        lines += ["What made the step slower is as it was. From the known good still differ", "",
                  *_listed(undoing.remaining)]  # fmt: skip
    else:
        lines.append("The workload gets exactly what it got while it was fast.")
    if undoing.also:
        lines += ["", "> **Warning:** it changes other workloads too:", "", *_listed(undoing.also)]
    else:
        lines += ["", "Rendered from this repository, no other workload gets anything else."]
    if undoing.remark:
        lines += ["", f"> **Warning:** {escape(undoing.remark)}"]
    return "\n".join(lines)


def _listed(texts: Sequence[str]) -> list[str]:
    shown = [f"- {code(text)}" for text in texts[:CHANGES_SHOWN]]
    return [*shown, f"- and {len(texts) - CHANGES_SHOWN} more"] if len(texts) > CHANGES_SHOWN else shown


def _others(story: Story) -> str:
    others = [suspect for suspect in story.ranking.suspects if suspect is not story.suspect]
    if not others:
        return "### Why no other\n\nIt is the only commit between the last good revision and the onset."
    lines = [
        f"- {code(other.commit.sha[:7])} {code(other.commit.subject)}: "
        f"{escape(other.because[0] if other.because else 'gives the workload the same')}"
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
        for updater in (*source.updaters, *story.suspect.updaters)
    ]
    warnings.extend(f"> **Warning:** {escape(warning)}" for warning in source.warnings)
    if source.replaces_immutable is False:
        warnings.insert(0, f"> **Warning:** {_not_replaced(tool)}")
    return "\n".join(["### What happens after merging", "", *lines, *(f"\n{warning}" for warning in warnings)])


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


def _moved(incident: Incident) -> str:
    change = incident.regressed_value / incident.baseline_value - 1 if incident.baseline_value else 0.0
    return f"{'+' if change > 0 else '−'}{abs(change):.1%}".replace("%", " %")


def _cells(before: float | None, now: float) -> tuple[str, str, str]:
    if before is None:
        return "–", f"{now / 1e6:.1f}", "–"
    difference = (now - before) / 1e6
    sign = "+" if difference >= 0.05 else "−" if difference <= -0.05 else ""
    return f"{before / 1e6:.1f}", f"{now / 1e6:.1f}", f"{sign}{abs(difference):.1f}"
