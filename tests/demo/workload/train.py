"""The demo's training program: a small transformer language model on the CPU, for ever.

`python -m workload.train --config FILE`. It resumes from its checkpoint when there is one. SIGTERM ends it at once and
cleanly with exit code 143; a copy under the profiler ends itself (see mfu_probe).
"""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when numpy is loaded: the quota is half a core, more threads only fight for it

import argparse  # noqa: E402
import math  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from itertools import islice  # noqa: E402
from pathlib import Path  # noqa: E402
from types import FrameType  # noqa: E402

import mfu_probe  # noqa: E402

from . import checkpoint as checkpoints  # noqa: E402
from .config import Config, load_config  # noqa: E402
from .loader import BatchRecipe, InlineLoader, LoaderError, StoreClient, WorkerLoader, open_loader  # noqa: E402
from .model import AdamW, ModelShape, Transformer, initial_parameters  # noqa: E402
from .text import VOCABULARY  # noqa: E402

EXIT_SIGTERM = 128 + signal.SIGTERM


class Run:
    """One training run: the model, its optimizer, and how far it is."""

    def __init__(self, config: Config) -> None:
        self.config = config
        shape = ModelShape(
            VOCABULARY,
            config.training.sequence_length,
            config.model.layers,
            config.model.width,
            config.model.heads,
        )
        self.model = Transformer(shape, initial_parameters(shape, config.training.seed))
        self.optimizer = AdamW(self.model.parameters, config.training.learning_rate)
        self.step = 0
        self._checkpoint_path = Path(config.checkpoint.path)

    @property
    def tokens_per_step(self) -> int:
        """Tokens that one step trains on."""
        return self.config.training.batch_size * self.config.training.sequence_length

    @property
    def flops_per_step(self) -> float:
        """Model FLOPs of one step."""
        return mfu_probe.training_flops(
            self.model.parameter_count,
            self.tokens_per_step,
            layers=self.config.model.layers,
            width=self.config.model.width,
            sequence_length=self.config.training.sequence_length,
        )

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        if self._checkpoint_path.exists():
            saved = checkpoints.load(self._checkpoint_path)
            saved.restore(self.model.parameters, self.optimizer)
            self.step = saved.step
            _say(f"resumed from {self._checkpoint_path} at step {self.step}")

    def loader(self) -> InlineLoader | WorkerLoader:
        """The training data from the current step on."""
        return open_loader(
            self._recipe(first_shard=0),
            StoreClient(self.config.data.store_url),
            num_workers=self.config.loader.num_workers,
            prefetch_factor=self.config.loader.prefetch_factor,
            first_batch=self.step,
        )

    def train(self, probe: mfu_probe.Probe, loader: InlineLoader | WorkerLoader) -> None:
        """Train until `training.max_steps`, or for ever. Weights whose loss is NaN or infinite are not saved."""
        config = self.config
        for batch in probe.steps(loader):
            with probe.forward():
                loss, backward = self.model.forward(batch)
            with probe.backward():
                backward()
            with probe.optimizer():
                self.optimizer.update(self.model.parameters, self.model.gradients)
            self.step += 1
            probe.loss(loss)
            if probe.due(self.step, config.logging.every_steps):
                _say(f"step {self.step} loss {loss:.4f}")
            if probe.due(self.step, config.evaluation.every_steps):
                with probe.phase("evaluation"):
                    self._evaluate()
            if probe.due(self.step, config.checkpoint.every_steps) and math.isfinite(loss):
                with probe.phase("checkpoint"):
                    state = checkpoints.Checkpoint.of(self.step, self.model.parameters, self.optimizer)
                    checkpoints.save(self._checkpoint_path, state)
            if self.step == config.training.max_steps:
                return

    def _evaluate(self) -> None:
        held_out = InlineLoader(self._recipe(first_shard=self.config.data.shards), StoreClient(self._store_url))
        losses = [self.model.loss(batch) for batch in islice(held_out, self.config.evaluation.batches)]
        _say(f"step {self.step} evaluation loss {sum(losses) / len(losses):.4f}")

    @property
    def _store_url(self) -> str:
        return self.config.data.store_url

    def _recipe(self, first_shard: int) -> BatchRecipe:
        return BatchRecipe(
            shards=self.config.data.shards,
            objects_per_shard=self.config.data.objects_per_shard,
            objects_per_batch=self.config.data.objects_per_batch,
            batch_size=self.config.training.batch_size,
            sequence_length=self.config.training.sequence_length,
            seed=self.config.training.seed,
            first_shard=first_shard,
        )


def train(config: Config) -> None:
    """Run `config` to its end. The loader comes first: its workers are forked, and the probe starts a thread."""
    run = Run(config)
    run.resume()
    with (
        run.loader() as loader,
        mfu_probe.start(
            flops_per_step=run.flops_per_step,
            tokens_per_step=run.tokens_per_step,
            peak_flops=config.hardware.peak_flops,
            model=config.model.name,
            gpu=config.hardware.gpu,
            global_batch=config.training.batch_size,
            sequence_length=config.training.sequence_length,
            precision=config.hardware.precision,
            parallelism="dp1",
        ) as probe,
    ):
        _say(
            f"training {config.model.name}: {run.model.parameter_count} parameters, "
            f"{run.flops_per_step / 1e6:.0f} MFLOP a step, loader workers {config.loader.num_workers}"
        )
        run.train(probe, loader)


def main() -> None:
    """The command line of the training container."""
    parser = argparse.ArgumentParser(prog="python -m workload.train", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("/etc/workload/config.yaml"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    try:
        train(load_config(options.config))
    except (ValueError, LoaderError, checkpoints.CheckpointError, OSError) as error:
        sys.exit(f"train: {error}")


def _end(signal_number: int, frame: FrameType | None) -> None:
    raise SystemExit(EXIT_SIGTERM)


def _say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", flush=True)


if __name__ == "__main__":
    main()
