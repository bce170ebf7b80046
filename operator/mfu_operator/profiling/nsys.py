"""The command lines of the profiling pod. One shared folder, `/mfu`, carries the recorder in and the trace out."""

import shlex
from collections.abc import Mapping, Sequence

SHARED = "/mfu"
"""The emptyDir that every container of the profiling pod mounts."""

TOOLS = "/opt/mfu"
"""Where the profiler image keeps what the workload's image needs: a static shell and nsys' target files."""

NSYS = f"{SHARED}/target-linux-*/nsys"
"""A pattern of the shell: nsys insists on its folder's name, which names the processor, and there is one of them."""

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


NO_STEP = "mfu-operator: no step was seen"
"""What ends the log of a copy that was ended because it never came to the steps to record."""

LOOK_EVERY_S = 5
PATIENCE_SHARE = 2 / 3
"""Of the deadline: a copy that has not come to its steps by then holds devices for nothing."""


def record(command: Sequence[str], deadline_s: float) -> list[str]:
    """The workload's command under nsys, until the capture window has closed.

    nsys starts recording when the probe opens its NVTX range `mfu_capture`, from when on there is a report in the
    temporary folder, and ends the copy when it closes. A copy without a report is ended early. A failure of the copy
    must not keep the next container from saying what it was, so the exit status goes to a file.
    """
    options = [
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
    looks = max(1, int(deadline_s * PATIENCE_SHARE / LOOK_EVERY_S))
    watch = (
        f'i=0; while kill -0 $run 2>/dev/null; do set -- {SHARED}/tmp/nsys-report-*; [ -e "$1" ] && exit; '  # noqa: S108  # a folder of the pod's own
        f"[ $i -ge {looks} ] && {{ echo '{NO_STEP}' >>{LOG}; kill $run; sleep {LOOK_EVERY_S}; kill -9 $run; exit; }}; "
        f"i=$((i+1)); sleep {LOOK_EVERY_S}; done"
    )
    script = (
        f"{NSYS} {shlex.join(options)} >{LOG} 2>&1 & run=$!; ({watch}) >/dev/null 2>&1 & "
        f"wait $run; echo $? >{EXIT_STATUS}; tail -c {LOG_TAIL_BYTES} {LOG}"
    )
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
