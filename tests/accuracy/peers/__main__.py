"""python -m tests.accuracy.peers PYTHON [TRACELENS]: the table beside peers, as tests/accuracy/peers.md.

PYTHON is that of an environment with requirements.txt; `make peers` makes one and throws it away. TRACELENS is a
checkout of AMD's TraceLens, which no package registry has; without one it is not asked.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer

TRACES = Path("tests/data/traces")
ASK = Path(__file__).parent / "ask.py"
PAGE = Path(__file__).parent.parent / "peers.md"
LIMIT_S = 300
MOST_INPUT, MOST_IDLE, LEAST_COLLECTIVES = 10.0, 10.0, 30.0
"""XProf's, per cent of the step."""

ABOUT = """\
# The same traces, asked of peers

Made by `make peers TRACELENS=CHECKOUT` on {day}: torch-tb-profiler 0.4.3 (the TensorBoard plugin), Holistic Trace
Analysis (HTA) 0.5.0, TraceLens, and `kubectl mfu analyze` of this checkout without a baseline. The plugin is given one
rank of several, the first.

AMD's TraceLens is in no package registry (PyPI's `tracelens` evaluates AI agents). What its reports begin with, the GPU
timeline, is made by its own `TreePerf/gpu_event_analyser.py`, here of commit 0346a17 and without comments; it gives
shares and no advice.

XProf reads XSpace files only: given these traces, `xprof` 2.24.2 logs "Can't parse ... as binary proto" and returns no
data for any tool. Its row says which of its own suggestions' conditions (`xprof/convert/smart_suggestion`, 2025: input
above 10 % of the step, an idle device above 10 %, collectives from 30 % on) hold in our account of the mean step.
"""


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
    python, *checkout = sys.argv[1:]
    tools = [("TensorBoard plugin", "tensorboard"), ("HTA", "hta")]
    if checkout:
        os.environ["TRACELENS"] = checkout[0]
        tools.append(("TraceLens", "tracelens"))
    lines = [ABOUT.format(day=datetime.now(UTC).date()).rstrip()]
    for one in KNOWN:
        path = TRACES / one.files
        files = sorted(path.glob("*.gz")) if path.is_dir() else [path]
        lines += ["", f"## {one.files}", "", f"True: {one.truth}.", "", "| tool | says |", "|---|---|"]
        for name, tool in tools:
            lines.append(f"| {name} | {'<br>'.join(asked(python, tool, files))} |")
        found = analyze(files)
        lines.append(f"| XProf's conditions | {'<br>'.join(xprof(found))} |")
        lines.append(f"| `kubectl mfu analyze` | {'<br>'.join(own(found))} |")
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


def xprof(found: Answer) -> list[str]:
    """Which conditions of XProf's suggestions hold in the mean step of the first device; it presumes steps."""
    step = found.devices[0].step
    if step is None or not found.devices[0].steps or found.devices[0].steps[0].name == "span":
        return ["no step"]
    share = {part: 100 * ns / step.mean_ns for part, ns in step.account_ns.items()}
    idle = sum(value for part, value in share.items() if part.startswith("idle"))
    held = []
    if share["idleInput"] > MOST_INPUT:
        held.append(
            f"input {share['idleInput']:.0f} %: bottlenecked by host-side processing: read and preprocess in parallel"
        )
    if idle > MOST_IDLE:
        held.append(f"idle {idle:.0f} %: reduce kernel launch overhead, minimize Python overhead")
    if share["communication"] >= LEAST_COLLECTIVES:
        held.append(f"collectives {share['communication']:.0f} %: overlap, check for stragglers, check the network")
    return held or ["none holds"]


def own(found: Answer) -> list[str]:
    """Our verdict, and the opportunities behind it."""
    said = found.diagnosis
    verdict = (
        f"{said.bottleneck or 'nothing stands out'}{'/' + said.cause if said.cause else ''} ({said.confidence:.2f})"
    )
    worth = [f"{one.ms:.1f} ms: {one.remedy}" for one in (found.opportunities or ())[:3]]
    gaps = [f"longest gap {one.ms:.0f} ms: {one.call}" for one in (found.longest_gaps or ())[:1]] if not worth else []
    return [f"**{verdict}**", *said.evidence[:2], *worth, *gaps]


if __name__ == "__main__":
    main()
