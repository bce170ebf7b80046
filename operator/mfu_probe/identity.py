"""Who this process is: its rank among the run's processes, and what the run declares about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
WORLD_SIZE_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL_RANK_VARIABLES = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
NODE_VARIABLES = ("MFU_PROBE_NODE", "NODE_NAME")
"""The first that is set counts. A pod is told its node by the downward API alone (`spec.nodeName`)."""

PORT_VARIABLE = "MFU_PROBE_PORT"
DEFAULT_PORT = 9400


@dataclass(frozen=True)
class RankIdentity:
    """Place of this process in the run, as torchrun, accelerate and the Kubeflow operators export it.

    `rank` counts over the whole run, `local_rank` over this node, both from 0; `world_size` is the number of processes.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> RankIdentity:
        """Read RANK, WORLD_SIZE and LOCAL_RANK, or what `mpirun` sets instead (Open MPI; MPICH and Intel MPI); where
        nothing is set, or nothing but an empty text, this is a run of one process."""
        return cls(
            rank=int(_first(environment, RANK_VARIABLES) or 0),
            world_size=int(_first(environment, WORLD_SIZE_VARIABLES) or 1),
            local_rank=int(_first(environment, LOCAL_RANK_VARIABLES) or 0),
        )


@dataclass(frozen=True)
class RunInfo:
    """What makes a reading comparable with another one; exported as the labels of `mfu_probe_info`.

    Every field is optional and a label of its own; what is not declared is exported as an empty label.
    `global_batch` is in sequences over all ranks, `sequence_length` in tokens; `node` is where this rank runs.
    """

    model: str = ""
    gpu: str = ""
    world_size: str = ""
    global_batch: str = ""
    sequence_length: str = ""
    precision: str = ""
    parallelism: str = ""
    rank: str = ""
    node: str = ""

    def labels(self) -> dict[str, str]:
        """The labels of `mfu_probe_info`, in a fixed order."""
        return {name: str(value) for name, value in asdict(self).items()}


def node_of(environment: Mapping[str, str]) -> str:
    """The name of the node that this process runs on; empty where nothing says it."""
    return _first(environment, NODE_VARIABLES) or ""


def configured_port(environment: Mapping[str, str]) -> int:
    """The port of local rank 0. What Kubernetes says of a Service named `mfu-probe` to every pod of its namespace
    (`MFU_PROBE_PORT=tcp://10.0.0.1:9400`) is not meant. Raises ValueError for what is no number otherwise."""
    said = environment.get(PORT_VARIABLE) or ""
    return int(said) if said and "://" not in said else DEFAULT_PORT


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)
