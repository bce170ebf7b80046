"""What a framework hands to its logger, as Prometheus metrics: the metric profiles other than `mfu_probe` read these.

    from mfu_probe import bridges
    bridges.of_tensorboard()      # Megatron-LM, TorchTitan: every SummaryWriter of this process is mirrored

`bridges.frameworks` has a callback for Hugging Face's Trainer, a logger for Lightning and NeMo, and a destination for
Composer. Anything else calls `mirror(metrics, step)` where it logs. The process that logs serves the page, on the port
of `MFU_PROBE_PORT` (9400), from its first metric on. Whatever fails leaves the training loop alone.
"""

from __future__ import annotations

from mfu_probe.bridges import frameworks
from mfu_probe.bridges.gauges import Mirror, mirror, of_tensorboard

__all__ = ["Mirror", "frameworks", "mirror", "of_tensorboard"]
