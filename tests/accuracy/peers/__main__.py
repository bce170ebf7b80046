"""python -m tests.accuracy.peers PYTHON: the table beside peers, as tests/accuracy/peers.md.

PYTHON is that of an environment with requirements.txt; `make peers` makes one and throws it away.
"""

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mfu_operator.trace.analyze import analyze

TRACES = Path("tests/data/traces")
ASK = Path(__file__).parent / "ask.py"
PAGE = Path(__file__).parent.parent / "peers.md"
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Known:
    """One or several ranks' files, and what is true of them (tests/data/traces/README.md)."""

    files: str
    truth: str


KNOWN = (
    Known("kineto/resnet50_workers0_a.json.gz", "waits for input 33 % of the step, products in fp32 on a V100"),
    Known("kineto/resnet50_workers4_a.json.gz", "bound by fp32 kernels, tensor cores unused"),
    Known("hta/nccl_data.json.gz", "host-bound: 159 of 222 ms"),
    Known("hta/alexnet_first_iteration.json.gz", "start-up: 8.48 of 12.92 s in cudaMalloc"),
    Known("hta/negative_queue_rank0.json.gz", "CUDA graphs hide kernels: what is idle cannot be told"),
    Known("tracelens/bert_small_h100.json.gz", "launch-bound: 0.31 of 4.43 ms compute"),
    Known("tracelens/qwen_h100.json.gz", "bound by kernels: 43.1 of 47.2 ms"),
    Known("tracelens/resnet_act_checkpoint_mi300_rank0.json.gz", "communication exposed, 10.7 of 16.2 ms; rank 0 of 8"),
    Known("torchrec/sst_long_a2a_optimizer_2a", "rank 2's host is late by 1,003 of 1,196 ms; the others wait for it"),
)


def main() -> None:
    """Ask every tool for every trace."""
    python = sys.argv[1]
    lines = [
        "# The same traces, asked of peers",
        "",
        f"Made by `make peers` on {datetime.now(UTC):%Y-%m-%d}: torch-tb-profiler 0.4.3 (the TensorBoard plugin), Holistic",  # noqa: E501 - the text of the page
        "Trace Analysis (HTA) 0.5.0, and `kubectl mfu analyze` of this checkout without a baseline. AMD's TraceLens is in no",  # noqa: E501 - the text of the page
        "package registry (PyPI's `tracelens` is another program), and XProf reads XSpace files, not torch.profiler's: both",  # noqa: E501 - the text of the page
        "were not asked. The plugin is given one rank of several, the first.",
    ]
    for one in KNOWN:
        path = TRACES / one.files
        files = sorted(path.glob("*.gz")) if path.is_dir() else [path]
        lines += ["", f"## {one.files}", "", f"True: {one.truth}.", "", "| tool | says |", "|---|---|"]
        for name, tool in (("TensorBoard plugin", "tensorboard"), ("HTA", "hta")):
            lines.append(f"| {name} | {'<br>'.join(asked(python, tool, files))} |")
        lines.append(f"| `kubectl mfu analyze` | {'<br>'.join(own(files))} |")
    text = "\n".join([*lines, ""])
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def asked(python: str, tool: str, files: list[Path]) -> list[str]:
    """A peer's sentences."""
    command = [python, str(ASK), tool, *(str(one.resolve()) for one in files)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return [f"no answer within {LIMIT_S} s"]
    said = [one.removeprefix("SAID ") for one in done.stdout.splitlines() if one.startswith("SAID ")]
    return said or [f"ends with {done.returncode}"]


def own(files: list[Path]) -> list[str]:
    """Our verdict, and the opportunities behind it."""
    found = analyze(files)
    said = found.diagnosis
    verdict = (
        f"{said.bottleneck or 'nothing stands out'}{'/' + said.cause if said.cause else ''} ({said.confidence:.2f})"
    )
    worth = [f"{one.ms:.1f} ms: {one.remedy}" for one in (found.opportunities or ())[:3]]
    gaps = [f"longest gap {one.ms:.0f} ms: {one.call}" for one in (found.longest_gaps or ())[:1]] if not worth else []
    return [f"**{verdict}**", *said.evidence[:2], *worth, *gaps]


if __name__ == "__main__":
    main()
