"""An incident as the record that a change ticket asks for: what was measured, found, changed and won."""

from collections.abc import Iterator
from datetime import UTC, datetime

from mfu_operator.gitops.markdown import code, escape, table
from mfu_operator.gitops.message import account_table
from mfu_operator.gitops.telling.details import PART_NAMES
from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.account import StepAccount
from mfu_operator.model.incident import Exoneration, Incident, PinFact, ProposalFact, SuspectFact
from mfu_operator.model.proposal import PullRequestState


def record(incident: Incident, subject: str, healthy: StepAccount | None) -> str:
    """The record as Markdown.

    Args:
        incident: open or of the past.
        subject: the baseline's namespace and name ("training/gpt-small").
        healthy: the account of the healthy step; None: not recorded.
    """
    sections = (
        f"# Incident {code(incident.id)} of {code(subject)}",
        _measured(incident),
        "## When\n\n"
        + table(("what", "when"), [(what, _time(at_s)) for what, at_s in sorted(_times(incident), key=_at)]),
        _found(incident, healthy),
        _held_responsible(incident.suspect, incident.pin),
        _changed(incident.proposal),
        *(_exonerated(each) for each in incident.exonerated),
        _outcome(incident),
        _proof(incident),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _at(moment: tuple[str, float]) -> float:
    return moment[1]


def _measured(incident: Incident) -> str:
    after = "–" if incident.recovery is None else value(incident.signal, incident.recovery.after)
    row = (
        signal_name(incident.signal),
        value(incident.signal, incident.baseline_value),
        value(incident.signal, incident.regressed_value),
        after,
        f"{incident.drop:.1%}".replace("%", " %"),
    )
    return table(("", "before", "while slow", "after", "loss of speed"), [row])


def _times(incident: Incident) -> Iterator[tuple[str, float]]:
    proposal, recovery = incident.proposal, incident.recovery
    moments = (
        ("the loss began", incident.onset_at),
        ("it was sustained, and the incident opened", incident.opened_at),
        ("it was confirmed", incident.confirmed_at),
        ("a person approved the pull request", incident.approved.approved_at if incident.approved else None),
        ("the pull request was opened", proposal.opened_at if proposal else None),
        ("it was merged", proposal.merged_at if proposal else None),
        ("training had recovered", recovery.recovered_at if recovery else None),
        ("the incident was closed without a recovery", incident.ended_at),
    )
    for what, at_s in moments:
        if at_s is not None:
            yield what, at_s


def _found(incident: Incident, healthy: StepAccount | None) -> str:
    diagnosis, profile = incident.diagnosis, incident.profile
    if diagnosis is None:
        return "## Where the time went\n\nNo profile explains it."
    cause = f", cause {code(diagnosis.cause)}" if diagnosis.cause else ""
    bottleneck = code(str(diagnosis.bottleneck or "nothing grew"))
    lines = [f"## Where the time went\n\n{bottleneck}{cause}, confidence {diagnosis.confidence:.0%}.", ""]
    lines += [f"- {escape(each)}" for each in diagnosis.evidence]
    if profile is not None and profile.account is not None:
        lines += ["", account_table(healthy, profile.account)]
    return "\n".join(lines)


def _held_responsible(suspect: SuspectFact | None, pin: PinFact | None) -> str:
    if suspect is None and pin is not None:
        head = "## Held responsible\n\nwhat came with no commit."
        return "\n".join([head, "", *(f"- {escape(each)}" for each in pin.told)])
    if suspect is None:
        return ""
    told = [f"- {escape(each)}" for each in (*suspect.changed, *suspect.because)]
    head = (
        f"commit {code(suspect.sha[:12])} {code(suspect.subject)} by {escape(suspect.author)}, of {suspect.candidates}"
    )
    return "\n".join([f"## Held responsible\n\n{head}.", "", *told])


def _changed(proposal: ProposalFact | None) -> str:
    if proposal is None:
        return ""
    state = "dry run: nothing left the cluster" if proposal.dry_run else str(proposal.state or "").lower()
    lines = [f"## Proposed\n\n{escape(proposal.title)} ({state})"]
    if proposal.url is not None:
        lines.append(f"\n- {escape(proposal.url) if not _plain(proposal.url) else proposal.url}")
    if proposal.merge_sha is not None:
        lines.append(f"- merged as {code(proposal.merge_sha)}")
    if proposal.withdrawn is not None:
        lines.append(f"- withdrawn: {escape(proposal.withdrawn)}")
    return "\n".join(lines)


def _plain(url: str) -> bool:
    return url.startswith(("https://", "http://")) and not any(char in url for char in " <>()[]`\n")


def _exonerated(each: Exoneration) -> str:
    url = each.proposal.url or ""
    link = url if _plain(url) else code(url)
    undone = f"{escape(each.proposal.title)} ({link})"
    if each.suspect is not None:
        undone = f"commit {code(each.suspect.sha[:12])} {code(each.suspect.subject)}: its revert ({link})"
    return (
        f"## Not responsible after all\n\n{undone} was merged and rolled out, and the loss remained "
        f"({_time(each.exonerated_at)})."
    )


def _outcome(incident: Incident) -> str:
    recovery = incident.recovery
    if recovery is not None:
        lines = [f"Training recovered. It cost {recovery.gpu_hours_lost:.3g} device-hours beyond the baseline's."]
        if recovery.single_variable:
            lines.append(f"What changed between slow and recovered: {escape(recovery.single_variable)}.")
    elif incident.ended_at is None:
        lines = ["The incident is open."]
    else:
        told = incident.accepted or incident.superseded or (": ".join(incident.closed) if incident.closed else "")
        lines = [f"Closed without a recovery: {escape(told)}."]
        if incident.gpu_hours_lost is not None:
            lines.append(f"It cost {incident.gpu_hours_lost:.3g} device-hours beyond the baseline's.")
    if incident.blocked is not None and (
        incident.proposal is None or incident.proposal.state is not PullRequestState.OPEN
    ):
        lines.append(f"Why nothing is proposed (any more): {incident.blocked[0]}: {escape(incident.blocked[1])}.")
    return "## Outcome\n\n" + "\n\n".join(lines)


def _proof(incident: Incident) -> str:
    """The step that was captured again after the recovery; nothing for what an earlier release closed."""
    proof = incident.proof
    if proof is None:
        return ""
    head = "## The step after the recovery\n\n"
    if proof.missing is not None:
        return f"{head}It was not captured again: {proof.missing[0]}: {escape(proof.missing[1])}."
    if proof.part is None or proof.healthy_ns is None or proof.slow_ns is None:
        return ""
    if proof.after_ns is None:
        return f"{head}It is to be captured again within a day of the recovery."
    name, amounts = PART_NAMES.get(proof.part, code(proof.part)), (proof.healthy_ns, proof.slow_ns, proof.after_ns)
    row = (name, *(f"{amount / 1e6:.1f}" for amount in amounts))
    told = table(("the part that had grown most, ms", "before", "while slow", "after"), [row])
    left_ms, grown_ms = (proof.after_ns - proof.healthy_ns) / 1e6, (proof.slow_ns - proof.healthy_ns) / 1e6
    gone = (
        "The gap is gone." if proof.gone else f"{left_ms:.1f} ms of the {grown_ms:.1f} ms that it had grown by remain."
    )
    return f"{head}{told}\n\n{gone}"


def _time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
