"""`mfu_probe run -- COMMAND`: any training command with the start-up hook, and without a line in the script.

The hook travels in PYTHONPATH, so that torchrun's, accelerate's and deepspeed's children inherit it. Ranks that
`mpirun` starts through sshd have nothing of this environment: for them it is passed on with `-x` (Open MPI).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

USAGE = """usage: mfu_probe run -- COMMAND [ARGUMENT...]

Run a training command so that its steps are counted, measured and can be captured while it runs:

  mfu_probe run -- torchrun --nproc-per-node=8 train.py
  mfu_probe run -- python -m torch.distributed.run train.py

Metrics and the capture API are served on port 9400 plus LOCAL_RANK; MFU_PROBE_PORT moves it. A capture needs a token:
mount key `token` of a Secret and name the file in MFU_PROBE_TOKEN_FILE.
"""

HOOK = Path(__file__).resolve().parents[1] / "hook"
HOOK_MODULE = "mfu_probe_start_up"
PROFILERS_MODULE = "mfu_probe_profilers"
PASSED_ON = ("PYTHONPATH", "MFU_PROBE_PORT", "MFU_PROBE_TOKEN_FILE", "MFU_PROBE_TRACE_DIR", "MFU_PROBE_WINDOW_SECONDS")
WRONG_USAGE, NOT_FOUND = 2, 127


def environment_with_hook(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which every Python process installs the hook, and finds this package."""
    before = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    ours = [str(HOOK), str(HOOK.parents[1])]
    return {**environment, "PYTHONPATH": os.pathsep.join([*ours, *(part for part in before if part not in ours)])}


def with_passed_on(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command; Open MPI's launcher with `-x` for each variable that its ranks need."""
    if not command or Path(command[0]).name not in ("mpirun", "mpiexec", "orterun", "prterun"):
        return list(command)
    passed = [word for name in PASSED_ON if name in environment for word in ("-x", name)]
    return [command[0], *passed, *command[1:]]


def hook_module(name: str) -> Any:
    """A module of the folder `hook`, the same one that the start-up hook uses in this process, if it is there."""
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, HOOK / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def use_optimizer_hook(probe: Any) -> None:
    """Let torch's hook after an optimizer's step tell `probe` of the steps, whoever started this process.

    What fails here is a warning: the script goes on, and tells its steps itself or is not counted.
    """
    try:
        hook_module(PROFILERS_MODULE)
        module = hook_module(HOOK_MODULE)
        module.install()
        module.use(probe)
    except Exception as error:  # noqa: BLE001  # nothing of the probe keeps training from starting
        warnings.warn(f"mfu_probe does not count the optimizer's steps: {type(error).__name__}: {error}", stacklevel=3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Become the command; returns only where that cannot be."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)  # noqa: T201
        return 0
    if words[:1] != ["run"] or len(words) < 2:
        print(USAGE, file=sys.stderr)  # noqa: T201
        return WRONG_USAGE
    command = words[2:] if words[1] == "--" else words[1:]
    program = shutil.which(command[0]) if command else None
    if program is None:
        said = f"command {command[0]!r} is not found" if command else "no command is given after --"
        print(f"mfu_probe: {said}", file=sys.stderr)  # noqa: T201
        return NOT_FOUND if command else WRONG_USAGE
    environment = environment_with_hook(os.environ)
    os.execve(program, with_passed_on(command, environment), environment)  # noqa: S606 - the person's own command, as a vector
    return NOT_FOUND
