"""The knobs of a training job: what faults turn."""

from dataclasses import dataclass, replace
from typing import Any

from tests.accuracy.events.programs import Program


@dataclass(frozen=True, slots=True)
class Setup:
    """One job as it is configured and as its machines are."""

    program: Program
    ranks: int = 1
    seed: int = 0
    steps: int = 9
    before: int = 4
    """Steps that run before the recording begins."""

    op_us: float = 7.0
    launch_us: float = 4.0
    host: float = 1.0
    """Times the length of all that the host does."""
    bookkeeping_us: float = 400.0
    """The loop's own Python per step."""
    python_us: float = 0.0
    """Work added to each layer's call: hooks, logging."""
    reads_loss: bool = True
    """loss.item() at the end of each step."""
    extra_reads: float = 0.0
    """More of them per layer."""
    allocations: float = 0.0
    allocation_us: float = 350.0
    graphs: bool = False
    single_launches: float = 0.0
    """Share of the layers whose graph is lost."""
    compile_ms: float = 0.0
    compile_every: int = 4
    checks: float = 0.0
    """Checks of every gradient for NaN (anomaly detection), of all layers."""

    workers: int = 4
    prefetch: int = 2
    samples: int = 8
    read_ms: float = 6.0
    transform_ms: float = 14.0
    heavy_every: int = 0
    heavy_ms: float = 0.0
    restart_at: int = -1
    restart_ms: float = 0.0
    pinned: bool = True
    pcie_gbps: float = 22.0
    batch_factor: float = 1.0

    gbps: float = 90.0
    latency_us: float = 28.0
    bucket_mb: float = 25.0
    serial: float = 0.0
    """Share of collectives that the device waits for at once."""
    extra_collectives: float = 0.0
    extra_bytes: int = 4_000_000

    clock: float = 1.0
    """Times the length of what the core clock bounds; memory keeps most of its speed."""
    wide: float = 0.0
    """Share of the layers whose products read float32."""
    unflashed: float = 0.0
    """Share of the layers whose attention is made of products and a softmax."""
    again: float = 0.0
    """Share of the layers whose forward pass runs once more in the backward pass."""
    larger: float = 1.0
    """Times the tokens of a batch."""
    pieces: float = 0.0
    """Share of the layers whose fused activation is made of its parts."""
    added_us: float = 0.0
    """A kernel that was added to each layer."""
    copies_us: float = 0.0
    """Copies within the device that were added to each layer, in microseconds."""
    peer_mb: float = 0.0
    """Copies between devices that were added to each layer."""
    offload_mb: float = 0.0
    """Activations of each layer that wait on the host for their backward pass."""

    late: tuple[tuple[str, Any], ...] = ()
    """What is otherwise on the last but one rank."""

    def of_rank(self, rank: int) -> "Setup":
        """The job as that rank runs it."""
        late = max(0, self.ranks - 2)
        return replace(self, **dict(self.late)) if self.late and rank == late else self
