"""A training script as people write it: data-parallel on the CPU with gloo. It knows nothing of mfu_probe, unless
`--probe` says how it tells it.

Each rank leaves a line for each of its steps: the clock at the step's end, in seconds. That is what says whether
anything reached the loop.
"""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import _global_optimizer_post_hooks
from torch.utils.data import DataLoader, Dataset

WIDTH = 192


class Rows(Dataset):
    """Rows that take `seconds` each to read."""

    def __init__(self, count: int, seconds: float) -> None:
        self.count, self.seconds = count, seconds

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.full((WIDTH,), float(index % 7))


class Late(torch.nn.Module):
    """A layer that takes longer on one rank."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        return rows


class Toggled:
    """Takes torch's global hooks away at every other step, and gives them back; a line for each step."""

    def __init__(self, toggles: bool, path: Path) -> None:
        self.lines = path.open("w") if toggles else None
        self.taken: dict = {}
        self.ended = time.monotonic()

    def after(self) -> None:
        if self.lines is None:
            return
        now, hooks = time.monotonic(), _global_optimizer_post_hooks
        self.lines.write(f"[{int(bool(hooks))}, {now - self.ended}]\n")
        if hooks:
            self.taken = dict(hooks)
            hooks.clear()
        else:
            hooks.update(self.taken)
        self.ended = time.monotonic()


class Profiled:
    """torch.profiler as a script uses it by itself."""

    def __init__(self, steps: str, path: Path) -> None:
        first, _, count = steps.partition(":")
        self.first = int(first or -1)
        self.end, self.path = self.first + int(count or 0), path

    def before(self, step: int) -> None:
        if step == self.first:
            self.profiler = torch.profiler.profile(activities=torch.profiler.supported_activities())
            self.profiler.start()
        elif step == self.end:
            self.profiler.stop()
            self.profiler.export_chrome_trace(str(self.path))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--late-rank", type=int, default=-1)
    parser.add_argument("--late-seconds", type=float, default=0.0)
    parser.add_argument("--late-in", choices=("forward", "loader"), default="forward")
    parser.add_argument("--probe", choices=("none", "one-line", "steps"), default="none")
    parser.add_argument("--profile", default="", help="FIRST:COUNT, steps that the script profiles itself")
    parser.add_argument("--toggle", action="store_true", help="every other step without torch's global hooks")
    parser.add_argument("--checkpoint-at", type=int, default=-1)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    late = given.late_seconds if rank == given.late_rank else 0.0
    layers = [each for _ in range(4) for each in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = DistributedDataParallel(
        torch.nn.Sequential(Late(late if given.late_in == "forward" else 0.0), *layers), bucket_cap_mb=0.3
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = Rows(given.steps * 8, late / 8 if given.late_in == "loader" else 0.0)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    with (given.out / f"steps-{rank}-{attempt}").open("w", buffering=1) as ends:
        loader, probe = DataLoader(rows, batch_size=8), None
        if given.probe != "none":
            import mfu_probe

            probe = mfu_probe.start()
        toggled = Toggled(given.toggle, given.out / f"steps-with-and-without-{rank}")
        own = Profiled(given.profile, given.out / f"own-{rank}.json")
        (given.out / f"pid-{rank}-{attempt}").write_text(str(os.getpid()))
        for step, batch in enumerate(probe.steps(loader) if given.probe == "steps" else loader):
            own.before(step)
            optimizer.zero_grad(set_to_none=True)
            model(batch).pow(2).mean().backward()
            optimizer.step()
            toggled.after()
            ends.write(f"{time.monotonic():.6f}\n")
            if probe is not None and step == given.checkpoint_at:
                with probe.phase("checkpoint"):
                    torch.save(model.state_dict(), given.out / f"checkpoint-{rank}.pt")
            end = given.out / "end"
            if end.exists() and step >= int(end.read_text()):
                break
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
