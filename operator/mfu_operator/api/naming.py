"""Names derived from facts, so that doing a thing twice does it once."""

import re
from hashlib import sha256

MAX_LABEL = 63
"""The longest label value, and so the longest name of a Job (its pods carry it as a label)."""

_MAX_BASELINE = 36
"""Of a baseline's name in an id: leaves room for uid, onset and attempt in a Job's name."""

_UID_HEAD = 8
_DIGEST_HEAD = 6
"""Hexadecimal digits: they tell baselines of one name apart, and long names that begin alike."""

_EVENT_DIGEST = 16
"""Hexadecimal digits."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_NOT_DNS = re.compile(r"[^a-z0-9]+")


def incident_id(baseline: str, uid: str, onset_s: float) -> str:
    """The id of a baseline's incident ("gpt-small-3f2a91c0-tlpwu8"): at most 57 characters, a DNS label. No two losses
    of one baseline begin in the same second, so an id is unique for ever, whatever became of the status.

    Args:
        baseline: the TrainingBaseline's name; of a long one, its head and a digest of the whole.
        uid: its metadata.uid, so that two of one name, one after the other, never share an id.
        onset_s: when the loss began, Unix seconds.
    """
    return f"{_subject(baseline, uid)}-{_base36(max(0, int(onset_s)))}"


def healthy_id(baseline: str, uid: str) -> str:
    """The id under which a baseline's healthy run is profiled ("gpt-small-3f2a91c0-healthy")."""
    return f"{_subject(baseline, uid)}-healthy"


def recovery_id(incident: str) -> str:
    """The id under which the job is profiled after an incident ("gpt-small-3f2a91c0-tlpwu8-after")."""
    return f"{_shortened(incident, MAX_LABEL - len('-after'))}-after"


def profiling_job_name(baseline: str, subject: str, attempt: int) -> str:
    """The name of a profiling Job: at most 63 characters, a DNS label ("mfu-gpt-small-3f2a91c0-tlpwu8-a1").

    Args:
        baseline: the TrainingBaseline's name.
        subject: an `incident_id`, a `healthy_id` or a `recovery_id`; where it begins with the baseline's name that is
            not said twice.
        attempt: counts from 1.
    """
    name, rest = _dns(baseline), _dns(subject)
    stem = rest if rest.startswith(_shortened(name, _MAX_BASELINE)) else f"{name}-{rest}"
    return f"mfu-{_shortened(stem, MAX_LABEL - len(f'mfu--a{attempt}'))}-a{attempt}"


def event_name(baseline: str, uid: str, stored: bytes, what: str) -> str:
    """The name of an Event: the same for the same transition from the same stored status, or of the same thing.

    Args:
        baseline: the TrainingBaseline's name.
        uid: its metadata.uid.
        stored: the status that the transition began with, as it is stored; or what happened, where it happens once.
        what: which of the Events of that transition.
    """
    digest = sha256(b"\0".join((uid.encode(), what.encode(), stored))).hexdigest()[:_EVENT_DIGEST]
    return f"{baseline[:_MAX_BASELINE].rstrip('-.')}.{digest}"


def _subject(baseline: str, uid: str) -> str:
    head = re.sub(r"[^a-z0-9]", "", uid.lower())[:_UID_HEAD]
    if not head or not _dns(baseline):
        raise ValueError(f"no name can be made from the baseline {baseline!r} with the uid {uid!r}")
    return f"{_shortened(_dns(baseline), _MAX_BASELINE)}-{head}"


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits


def _dns(text: str) -> str:
    return _NOT_DNS.sub("-", text.lower()).strip("-")


def _shortened(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    digest = sha256(text.encode()).hexdigest()[:_DIGEST_HEAD]
    return f"{text[: room - _DIGEST_HEAD - 1].rstrip('-')}-{digest}"
