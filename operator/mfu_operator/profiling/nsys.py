"""The command lines of the profiling pod. One shared folder, `/mfu`, carries the recorder in and the trace out."""

import shlex
from collections.abc import Mapping, Sequence

SHARED = "/mfu"
"""The emptyDir that every container of the profiling pod mounts."""

TOOLS = "/opt/mfu"
"""Where the profiler image keeps what the workload's image needs: a static shell and nsys' target files."""

TRACE = f"{SHARED}/out/trace"
EXIT_STATUS = f"{SHARED}/out/exit-status"
LOG = f"{SHARED}/out/log"
TERMINATION_LOG = "/dev/termination-log"

LOG_TAIL_BYTES = 1024
"""Of the workload's own last words that an error carries: a termination message holds 4096 bytes in all."""


def copy_tools() -> list[str]:
    """The command of the container that puts the recorder into the shared folder."""
    script = f"mkdir -p {SHARED}/out {SHARED}/tmp && chmod 1777 {SHARED}/out {SHARED}/tmp && cp -r {TOOLS}/. {SHARED}/"  # noqa: S108 - a volume of the pod alone
    return ["/bin/sh", "-c", script]


def record(command: Sequence[str]) -> list[str]:
    """The workload's command under nsys, until the capture window has closed.

    nsys starts recording when the probe opens its NVTX range `mfu_capture` and ends the copy when it closes. A failure
    of the copy must not keep the next container from saying what it was, so the exit status goes to a file.
    """
    nsys = [
        f"{SHARED}/target-linux-x64/nsys",
        "profile",
        "--trace=cuda,nvtx,osrt",
        "--sample=none",
        "--cpuctxsw=none",
        "--capture-range=nvtx",
        "--nvtx-capture=mfu_capture",
        "--capture-range-end=stop",
        "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
        "--force-overwrite=true",
        f"--output={TRACE}",
        *command,
    ]
    script = f"{shlex.join(nsys)} >{LOG} 2>&1; echo $? >{EXIT_STATUS}; tail -c {LOG_TAIL_BYTES} {LOG}"
    return [f"{SHARED}/busybox", "sh", "-c", script]


def analyze() -> list[str]:
    """The command of the container that turns the trace into the account it leaves in its termination message."""
    options = ["-o", "account", "--termination-message", TERMINATION_LOG, "--recorder-log", LOG]
    return ["kubectl-mfu", "analyze", *options, f"{SHARED}/out"]


def capture_environment(warmup_steps: int, steps: int) -> Mapping[str, str]:
    """What tells `mfu_probe` in the copy that it is one, and which steps to record."""
    return {
        "MFU_PROBE_CAPTURE_WARMUP_STEPS": str(warmup_steps),
        "MFU_PROBE_CAPTURE_STEPS": str(steps),
        "TMPDIR": f"{SHARED}/tmp",  # noqa: S108 - a volume of the pod alone
    }
