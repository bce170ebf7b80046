"""Data-parallel training with one process in each pod, on the CPU with gloo, from a configuration file.

What a test changes of the running job stands in the shared folder as `from-STEP.json`: every rank follows it from that
step on, so that a change needs no restart.
"""

import argparse
import gc
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import mfu_probe

STEPS = 1_000_000


class Rows(Dataset):
    """Rows of a store that takes `seconds` to answer."""

    def __init__(self, width: int, seconds: float) -> None:
        self.width, self.seconds = width, seconds

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.full((self.width,), float(index % 7))


class Late(torch.nn.Module):
    """A layer that can be made to take longer."""

    seconds = 0.0

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        return rows


class Pace(torch.autograd.Function):
    """Time that passes backwards, and not the processor's: what a rank with a device of its own takes, where a few
    cores are shared by all of them. Communication hides behind it."""

    @staticmethod
    def forward(context: Any, rows: torch.Tensor, seconds: float) -> torch.Tensor:
        context.seconds = seconds
        return rows.clone()

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple:
        time.sleep(context.seconds)
        return gradient, None


class Paced(torch.nn.Module):
    """A layer whose gradient takes so long."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return Pace.apply(rows, self.seconds)


class Plan:
    """The changes that stand in the shared folder, by the step from which they hold."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared

    def at(self, step: int) -> dict:
        path = self.shared / f"from-{step}.json"
        return json.loads(path.read_text()) if path.exists() else {}


def in_step(module: torch.nn.Module, bucket_mb: float) -> DistributedDataParallel:
    """The module with its gradients reduced in buckets of a size."""
    gc.collect()  # a wrapper of before takes its hooks with it
    return DistributedDataParallel(module, bucket_cap_mb=bucket_mb)


def reduced_after(module: torch.nn.Module, bucket_mb: float) -> None:
    """Reduce the gradients once all of them are there: what a wrapper does that overlaps nothing, with its buckets."""
    bucket: list[torch.Tensor] = []
    for each in reversed(list(module.parameters())):
        bucket.append(each.grad)
        if sum(one.nbytes for one in bucket) >= bucket_mb * 2**20:
            reduce_together(bucket)
            bucket = []
    if bucket:
        reduce_together(bucket)


def reduce_together(gradients: list[torch.Tensor]) -> None:
    """Their mean over the ranks, by one collective."""
    flat = torch.cat([each.flatten() for each in gradients])
    torch.distributed.all_reduce(flat)
    flat /= torch.distributed.get_world_size()
    for each, mean in zip(gradients, flat.split([each.numel() for each in gradients]), strict=True):
        each.copy_(mean.view_as(each))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    given = parser.parse_args()
    config = yaml.safe_load(given.config.read_text())
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = given.shared / os.environ["RUN_UID"]
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=world, timeout=timedelta(minutes=10)
    )
    width, layers, batch = config["model"]["width"], config["model"]["layers"], config["training"]["batch_size"]
    late = Late()
    pace, bucket_mb = config["model"]["backward_seconds_per_layer"], config["ddp"]["bucket_cap_mb"]
    linear = [each for _ in range(layers) for each in (torch.nn.Linear(width, width), Paced(pace), torch.nn.ReLU())]
    module = torch.nn.Sequential(late, *linear)
    model = in_step(module, bucket_mb)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-4, momentum=0.9)
    workers = config["loader"]["num_workers"]
    loader = DataLoader(Rows(width, config["data"]["seconds_per_row"]), batch_size=batch, num_workers=workers)
    parameters = sum(each.numel() for each in module.parameters())
    mfu_probe.start(
        flops_per_step=6 * parameters * batch,
        tokens_per_step=batch,
        peak_flops=config["hardware"]["peak_flops"],
        model="torch-ddp",
        gpu="cpu",
        global_batch=batch * world,
        sequence_length=1,
        precision="fp32",
        parallelism=f"dp{world}",
    )
    overlaps = True
    plan = Plan(given.shared / "plans" / os.environ["RUN_UID"])
    for step, rows in enumerate(loader):
        change = plan.at(step)
        late.seconds = change.get("late_s", {}).get(str(rank), late.seconds)
        if "bucket_cap_mb" in change:
            del model
            model = in_step(module, change["bucket_cap_mb"])
        overlaps = change.get("overlaps", overlaps)
        optimizer.zero_grad(set_to_none=True)
        if overlaps:
            model(rows).pow(2).mean().backward()
        else:
            module(rows).pow(2).mean().backward()
            reduced_after(module, bucket_mb)
        optimizer.step()
        if step % config["logging"]["every_steps"] == 0:
            sys.stdout.write(f"step {step}\n")


if __name__ == "__main__":
    main()
