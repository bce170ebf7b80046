"""What the coordinating Job is asked, in one line of JSON: a Job without API rights can ask nobody else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from mfu_operator.errors import Unreadable

MOST_TARGETS = 64
"""Pods that one capture asks; as many ranks at most."""

MOST_STEPS = 30
"""Of one capture (the capture API's bound)."""

_Uid = Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z-]{1,64}$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]


@dataclass(frozen=True, slots=True)
class TargetPod:
    """A pod of the run as the operator saw it. `port` is that of its first rank, `rank` that rank's number where the
    pod's own marks tell it, `processes` how many ranks it has where the workload says so."""

    uid: _Uid
    name: _Name
    ip: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F.:]{2,45}$")]
    node: str | None
    port: _Port
    rank: int | None = None
    processes: _Count | None = None


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """One capture. `pods` counts all of the run's, `targets` are those to ask, `ranks` how many of their ranks (None:
    as many as the default rule says). `deadline_s` is for all of it; for `hold_s` after it the traces are held for
    whoever fetches them (0: nobody does)."""

    id: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]{1,63}$")]
    steps: Annotated[int, msgspec.Meta(ge=1, le=MOST_STEPS)]
    deadline_s: Annotated[float, msgspec.Meta(gt=0, le=4 * 3600)]
    pods: _Count
    targets: Annotated[Sequence[TargetPod], msgspec.Meta(min_length=1, max_length=MOST_TARGETS)]
    ranks: Annotated[int, msgspec.Meta(ge=1, le=MOST_TARGETS)] | None = None
    hold_s: Annotated[float, msgspec.Meta(ge=0, le=600)] = 0.0


def encode(request: CaptureRequest) -> str:
    """The request as JSON."""
    return msgspec.json.encode(request).decode()


def decode(text: str) -> CaptureRequest:
    """The request of a JSON text.

    Raises:
        Unreadable: (RequestUnreadable) where it is none.
    """
    try:
        return msgspec.json.decode(text, type=CaptureRequest)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Unreadable(
            "RequestUnreadable",
            f"the capture request is not one that this version understands ({error}); give the operator and the "
            "profiler image the same version",
        ) from error
