"""What a collective does, by the name that a framework, NCCL, or a kernel gives it."""

import re
from functools import cache

POINT_TO_POINT = "point_to_point"
"""A transfer between two ranks: the others do not take part, and so wait for nobody."""

SEND_RECEIVE = "send_receive"
"""NCCL's kernel for both a transfer between two ranks and every all-to-all."""

ALL_TO_ALL = "all_to_all"

KINDS = (
    (ALL_TO_ALL, re.compile(r"(?i)all_?to_?all")),
    ("reduce_scatter", re.compile(r"(?i)reduce_?scatter")),
    ("all_gather", re.compile(r"(?i)all_?gather")),
    ("all_reduce", re.compile(r"(?i)all_?reduce|cross_device_reduce")),
    ("broadcast", re.compile(r"(?i)broadcast")),
    ("barrier", re.compile(r"(?i)barrier")),
    (SEND_RECEIVE, re.compile(r"(?i)send_?recv")),
    (POINT_TO_POINT, re.compile(r"(?i)send|recv|put|get|dispatch|combine")),
    ("gather", re.compile(r"(?i)gather")),
    ("scatter", re.compile(r"(?i)scatter")),
    ("reduce", re.compile(r"(?i)reduce")),
)
"""By name, the first that matches."""

ISSUING = re.compile(r"^(?:nccl|rccl):|^(?:nccl|rccl)(?=[A-Z])")
"""Ranges in which a collective of the device is issued: torch.profiler's ("nccl:all_reduce") and NCCL's own
("ncclAllReduce")."""

OWN_CALL = re.compile(r"^(?:nccl|rccl)[A-Z]")
"""NCCL's own ranges, whose sizes are those of one rank's share where ranks have shares ("just pass the size of one
message", NCCL's src/collectives.cc)."""

UNEVEN = re.compile(r"(?i)all_?to_?all_?v")
"""PyTorch's name for an all-to-all with split sizes: how much of it stays with the rank is not known."""

SHARED = ("all_gather", "reduce_scatter", ALL_TO_ALL)
"""Every rank has a share of the whole, which it need not send to itself."""

WHOLE = ("broadcast", "reduce", POINT_TO_POINT)
"""All bytes leave one rank."""

OF_THE_HOST = re.compile(r"^(?:gloo|ucc|mpi):")


@cache
def kind_of(name: str) -> str | None:
    """What it does; None where the name does not tell."""
    shown = name.split("(", 1)[0]
    return next((kind for kind, pattern in KINDS if pattern.search(shown)), None)


@cache
def issued_by(name: str) -> str | None:
    """What a collective does that is issued in a range of that name; None where it is not such a range."""
    found = ISSUING.match(name)
    return kind_of(name[found.end() :]) if found else None


@cache
def bus_factor(kind: str, members: int) -> float | None:
    """By what nccl-tests multiplies bytes per second, so that they compare with the links' peak; None where unknown.

    Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth"; src/sendrecv.cu for transfers between two ranks.
    """
    if members < 2:
        return None
    if kind == "all_reduce":
        return 2 * (members - 1) / members
    if kind in SHARED:
        return (members - 1) / members
    return 1.0 if kind in WHOLE else None


@cache
def size_factor(name: str, members: int) -> int | None:
    """What the recorded size of a collective of that name is multiplied by to be nccl-tests' size; None where unknown.

    That is the whole output of an all-gather and the whole input of a reduce-scatter (PERFORMANCE.md). PyTorch records
    both sides (the larger is the whole), NCCL one rank's share.
    """
    if UNEVEN.search(name):
        return None
    return members if OWN_CALL.match(name) and kind_of(name) in SHARED else 1
