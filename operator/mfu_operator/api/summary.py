"""The status in a few words: what the printer columns show, since a column shows a value as it is stored."""

from collections.abc import Mapping

from mfu_operator.model.baseline import Signal
from mfu_operator.model.diagnosis import NOTHING_GREW
from mfu_operator.model.incident import Incident, ProposalFact, Status
from mfu_operator.model.verdict import Judgement, Verdict

SPEED_FIRST = frozenset({str(Verdict.REGRESSED), str(Verdict.NOT_COMPARABLE)})
"""What is said even of a run that has symptoms: beside it, Healthy or NoData would say less than they do."""

MINUS = "\N{MINUS SIGN}"
_SHA_HEAD = 8


def summary(status: Status) -> Mapping[str, str]:
    """The columns' texts by their key; a column without anything to say is absent."""
    texts = {**_measured(status.judgement), **_explained(status.incident)}
    if status.symptoms and texts.get("verdict") not in SPEED_FIRST:
        texts["verdict"] = str(status.symptoms[0].reason)
    texts["progress"] = _progress(status)
    if status.recording is not None and "verdict" not in texts:
        texts["verdict"] = "Recording"
    return {key: text for key, text in texts.items() if text}


def quantity(signal: str, value: float) -> str:
    """A reading with its unit where MFU, which has none, is not meant ("0.381", "85.7 ms", "1250 tok/s")."""
    if signal == Signal.STEP_TIME:
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    if signal == Signal.THROUGHPUT:
        return f"{value:.3g} tok/s" if value < 100 else f"{value:.0f} tok/s"
    return f"{value:.3f}"


def per_cent(ratio: float) -> str:
    """A signed change ("−17.2%", "+0.4%", "0.0%")."""
    text = f"{100 * ratio:+.1f}%"
    return text[1:] if text in ("+0.0%", "-0.0%") else text.replace("-", MINUS)


def _measured(judgement: Judgement | None) -> dict[str, str]:
    if judgement is None:
        return {}
    texts = {"verdict": str(judgement.verdict), "evidence": _evidence(judgement)}
    if judgement.value is not None:
        texts["reading"] = quantity(judgement.signal, judgement.value)
    if judgement.baseline is not None:
        texts["baseline"] = quantity(judgement.signal, judgement.baseline)
    if judgement.change is not None:
        texts["change"] = per_cent(judgement.change)
    return texts


def _evidence(judgement: Judgement) -> str:
    if judgement.sustain_s <= 0:
        return ""
    if judgement.sustain_s < 120:
        return f"{judgement.evidence_s:.0f} of {judgement.sustain_s:.0f} s"
    return f"{_minutes(judgement.evidence_s)} of {_minutes(judgement.sustain_s)} min"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}".removesuffix(".0")


def _explained(incident: Incident | None) -> dict[str, str]:
    if incident is None:
        return {}
    texts = {"pullRequest": _pull_request(incident)}
    if incident.diagnosis is not None:
        texts["bottleneck"] = str(incident.diagnosis.bottleneck or NOTHING_GREW)
    if incident.suspect is not None:
        texts["suspect"] = f"{incident.suspect.sha[:_SHA_HEAD]} {incident.suspect.subject}"[:60]
    return texts


def _pull_request(incident: Incident) -> str:
    if incident.proposal is not None:
        return _proposed(incident.proposal)
    return f"none: {incident.blocked[0]}" if incident.blocked is not None else ""


def _proposed(proposal: ProposalFact) -> str:
    if proposal.dry_run:
        return "dry run"
    state = f" ({proposal.state})" if proposal.state is not None else ""
    return f"{proposal.url}{state}" if proposal.url else ""


def _progress(status: Status) -> str:
    """What the operator is at, derived from the first fact that is missing. For display only."""
    if status.recording is not None:
        return f"recording run {status.recording.run} of {status.recording.runs}"
    if status.incident is not None:
        return _incident_progress(status.incident)
    judgement = status.judgement
    if judgement is None or judgement.verdict is not Verdict.HEALTHY:
        return ""
    return f"gated: {', '.join(judgement.gates)}" if judgement.gates else "watching"


def _incident_progress(incident: Incident) -> str:
    if incident.recovery is not None:
        return "recovered"
    if incident.blocked is not None:
        return "needs a person"
    if incident.proposal is not None:
        return "watching recovery" if incident.proposal.merged_at is not None else "awaiting review"
    if incident.suspect is not None:
        return "proposing"
    return "seeking the commit" if incident.diagnosis is not None else "profiling"
