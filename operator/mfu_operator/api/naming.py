"""Names derived from facts, so that doing a thing twice does it once."""

import re
from hashlib import sha256

MAX_LABEL = 63
"""The longest label value, and so the longest name of a Job (its pods carry it as a label)."""

_MAX_BASELINE = 36
"""Of a baseline's name in an id: leaves room for uid, count and attempt in a Job's name."""

_UID_HEAD = 8
_DIGEST_HEAD = 6
"""Hexadecimal digits: they tell baselines of one name apart, and long names that begin alike."""

_NOT_DNS = re.compile(r"[^a-z0-9]+")


def incident_id(baseline: str, uid: str, number: int) -> str:
    """The id of a baseline's incident ("gpt-small-3f2a91c0-1"): at most 57 characters, a DNS label.

    Args:
        baseline: the TrainingBaseline's name; of a long one, its head and a digest of the whole.
        uid: its metadata.uid, so that two of one name, one after the other, never share an id.
        number: counts from 1 (`Status.incidents` + 1), so that two replicas give one id.
    """
    return f"{_subject(baseline, uid)}-{number}"


def healthy_id(baseline: str, uid: str) -> str:
    """The id under which a baseline's healthy run is profiled ("gpt-small-3f2a91c0-healthy")."""
    return f"{_subject(baseline, uid)}-healthy"


def profiling_job_name(baseline: str, subject: str, attempt: int) -> str:
    """The name of a profiling Job: at most 63 characters, a DNS label ("mfu-gpt-small-3f2a91c0-1-a1").

    Args:
        baseline: the TrainingBaseline's name.
        subject: an `incident_id` or a `healthy_id`; where it begins with the baseline's name that is not said twice.
        attempt: counts from 1.
    """
    name, rest = _dns(baseline), _dns(subject)
    stem = rest if rest.startswith(_shortened(name, _MAX_BASELINE)) else f"{name}-{rest}"
    return f"mfu-{_shortened(stem, MAX_LABEL - len(f'mfu--a{attempt}'))}-a{attempt}"


def _subject(baseline: str, uid: str) -> str:
    head = re.sub(r"[^a-z0-9]", "", uid.lower())[:_UID_HEAD]
    if not head or not _dns(baseline):
        raise ValueError(f"no name can be made from the baseline {baseline!r} with the uid {uid!r}")
    return f"{_shortened(_dns(baseline), _MAX_BASELINE)}-{head}"


def _dns(text: str) -> str:
    return _NOT_DNS.sub("-", text.lower()).strip("-")


def _shortened(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    digest = sha256(text.encode()).hexdigest()[:_DIGEST_HEAD]
    return f"{text[: room - _DIGEST_HEAD - 1].rstrip('-')}-{digest}"
