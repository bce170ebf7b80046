"""Everything that reaches into the world, in one value, so that tests can hand over doubles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mfu_operator.model.baseline import ForgeKind
from mfu_operator.ports import Cluster, Credentials, Delivery, Forge, Repository
from mfu_operator.runtime.breaker import Breaker
from mfu_operator.runtime.occupancy import Occupancy
from mfu_operator.runtime.sweep import Sweep

ForgeFactory = Callable[[ForgeKind | None, str, str | None, Credentials | None], Forge]


@dataclass(frozen=True, slots=True)
class Hands:
    """The adapters in use. `deliveries` are by the kind of their application object (Application, Kustomization);
    `breaker` and `occupancy` are one for the whole operator."""

    cluster: Cluster
    sweep: Sweep
    deliveries: Mapping[str, Delivery]
    repository: Repository
    forge: ForgeFactory
    breaker: Breaker = field(default_factory=Breaker)
    occupancy: Occupancy = field(default_factory=Occupancy)
