"""What a training script imports: model FLOPs utilisation, step metrics, NVTX ranges and the capture window.

```python
import mfu_probe

probe = mfu_probe.start(flops_per_step=6 * parameters * tokens, tokens_per_step=tokens, peak_flops=989e12)
for batch in probe.steps(loader):
    train_on(batch)
```

Everything is counted per process: `flops_per_step` and `tokens_per_step` are this rank's share of one step,
`peak_flops` is the peak of the devices this rank drives. README.md beside this file documents every metric.
"""

from mfu_probe.identity import RankIdentity, RunInfo
from mfu_probe.peak import GPU_PEAKS, UnknownGpuError, measure_peak, peak_of, training_flops
from mfu_probe.probe import Probe, start

__all__ = [
    "GPU_PEAKS",
    "Probe",
    "RankIdentity",
    "RunInfo",
    "UnknownGpuError",
    "__version__",
    "measure_peak",
    "peak_of",
    "start",
    "training_flops",
]

__version__ = "0.1.0"
