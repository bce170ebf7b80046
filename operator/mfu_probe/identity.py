"""Who this process is: its rank among the run's processes, and what the run declares about itself."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class RankIdentity:
    """Place of this process in the run, as torchrun, accelerate and the Kubeflow operators export it.

    `rank` counts over the whole run, `local_rank` over this node, both from 0; `world_size` is the number of processes.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "RankIdentity":
        """Read RANK, WORLD_SIZE and LOCAL_RANK; a variable that is unset or empty means a run of one process."""
        return cls(
            rank=int(environment.get("RANK") or 0),
            world_size=int(environment.get("WORLD_SIZE") or 1),
            local_rank=int(environment.get("LOCAL_RANK") or 0),
        )


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What makes a reading comparable with another one; exported as the labels of `mfu_probe_info`.

    Every field is optional and a label of its own; what is not declared is exported as an empty label.
    `global_batch` is in sequences over all ranks, `sequence_length` in tokens.
    """

    model: str = ""
    gpu: str = ""
    world_size: str = ""
    global_batch: str = ""
    sequence_length: str = ""
    precision: str = ""
    parallelism: str = ""
    rank: str = ""

    def labels(self) -> dict[str, str]:
        """The labels of `mfu_probe_info`, in a fixed order."""
        return {name: str(value) for name, value in asdict(self).items()}
