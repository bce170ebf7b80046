"""Everything that reaches into the world, in one value, so that tests can hand over doubles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mfu_operator.cycle.branches import Branches
from mfu_operator.cycle.breaker import Breaker
from mfu_operator.cycle.profiling.budgets import Budgets
from mfu_operator.cycle.profiling.slots import ProfilingSlots
from mfu_operator.cycle.sharers import Sharers
from mfu_operator.measure.front import Measuring
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.ports import Cluster, Credentials, Delivery, Forge, Repository

ForgeFactory = Callable[[ForgeKind | None, str, str | None, Credentials | None], Forge]
Exchange = Callable[[ForgeKind | None, str, str | None, Credentials | None], Credentials | None]
"""What a forge and git take for what a Secret holds: of the forge (where declared), the repository, the forge's address
(where declared)."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters in use. `deliveries` are by the kind of their application object (Application, Kustomization);
    `breaker`, `branches`, `slots` and `sharers` are one for the whole operator; `exchange` gives the token of an App
    for its key; `neighbours` says which installations serve a namespace, where there is another one than this."""

    cluster: Cluster
    sweep: Measuring
    deliveries: Mapping[str, Delivery]
    repository: Repository
    forge: ForgeFactory
    breaker: Breaker = field(default_factory=Breaker)
    branches: Branches = field(default_factory=Branches)
    slots: ProfilingSlots = field(default_factory=ProfilingSlots)
    budgets: Budgets = field(default_factory=Budgets)
    exchange: Exchange = lambda kind, repository, address, credentials: credentials
    sharers: Sharers = field(default_factory=Sharers)
    neighbours: Callable[[str], tuple[str, ...]] = lambda namespace: ()
