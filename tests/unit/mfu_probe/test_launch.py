"""Steps without a line of code: `mfu_probe run` and the start-up hook, in real processes with a double of torch."""

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mfu_probe.live.launch import environment_with_hook, with_passed_on

ROOT = Path(__file__).parents[3]
PROBE = ROOT / "operator" / "mfu_probe"

TORCH = """
hooks = []

def register_optimizer_step_post_hook(hook):
    hooks.append(hook)

class Optimizer:
    def step(self):
        for hook in hooks:
            hook(self, (), {})
"""
SCRIPT = """
import json, sys, urllib.request
from torch.optim.optimizer import Optimizer

first, second = Optimizer(), Optimizer()
for _ in range(6):
    first.step()
    second.step()
page = urllib.request.urlopen("http://127.0.0.1:%s/metrics" % sys.argv[1]).read().decode()
print(json.dumps([line for line in page.splitlines() if line.startswith("mfu_probe_steps_total")]))
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder with a torch that has optimizers and their hook, and a script that steps two of them."""
    package = tmp_path / "site" / "torch" / "optim"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "optimizer.py").write_text(TORCH)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def ran(image: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(image / "site"), str(ROOT / "operator")]),
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-m", "mfu_probe", "run", "--", *command],
        env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def free_port() -> str:
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])


def test_an_unmodified_script_is_counted_by_one_of_its_optimizers(image: Path) -> None:
    port = free_port()
    done = ran(image, sys.executable, str(image / "train.py"), port, MFU_PROBE_PORT=port)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["mfu_probe_steps_total 5.0"], "six ends of steps bound five whole ones"


def test_the_images_own_sitecustomize_still_runs(image: Path) -> None:
    (image / "site" / "sitecustomize.py").write_text("import sys; sys.images_own = True\n")
    done = ran(image, sys.executable, "-c", "import sys; print(sys.images_own)")
    assert done.stdout.strip() == "True", done.stderr


def test_a_hook_that_fails_leaves_the_script_alone(image: Path) -> None:
    script = "from torch.optim.optimizer import Optimizer\nfor _ in range(3): Optimizer().step()\nprint('trained')"
    done = ran(image, sys.executable, "-c", script, MFU_PROBE_PORT="not a number")
    assert done.stdout.strip() == "trained"
    assert done.stderr.count("counts no steps any more") == 1


def test_a_process_that_never_imports_torch_serves_nothing(image: Path) -> None:
    done = ran(
        image,
        sys.executable,
        "-c",
        "import sys, threading; print(threading.active_count(), 'mfu_probe.probe' in sys.modules)",
    )
    assert done.stdout.split() == ["1", "False"]


def test_the_exit_status_is_the_commands(image: Path) -> None:
    assert ran(image, sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    assert ran(image, "no-such-program").returncode == 127
    assert "no-such-program" in ran(image, "no-such-program").stderr


@pytest.mark.parametrize("words", [[], ["walk"], ["run"]])
def test_wrong_usage_teaches(words: list[str]) -> None:
    command = [sys.executable, "-m", "mfu_probe", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "mfu_probe run -- torchrun" in done.stderr


def test_open_mpis_ranks_get_the_variables() -> None:
    environment = environment_with_hook({"MFU_PROBE_TOKEN_FILE": "/run/token"})
    passed = with_passed_on(["mpirun", "-np", "4", "python", "train.py"], environment)
    assert passed == ["mpirun", "-x", "PYTHONPATH", "-x", "MFU_PROBE_TOKEN_FILE", "-np", "4", "python", "train.py"]
    assert with_passed_on(["torchrun", "train.py"], environment) == ["torchrun", "train.py"]


def test_the_hook_stands_once_on_the_path() -> None:
    once = environment_with_hook({"PYTHONPATH": "/app"})
    assert environment_with_hook(once) == once
    assert once["PYTHONPATH"].endswith("/app")


def start_up() -> Any:
    """The start-up hook as a module of its own, as Python loads it from the hook's folder."""
    spec = importlib.util.spec_from_file_location("start_up_under_test", PROBE / "hook" / "mfu_probe_start_up.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Optimizer:
    """Anything that can be held weakly."""


def test_when_the_counted_optimizer_is_gone_the_next_one_is_counted() -> None:
    advanced: list[int] = []

    class Steps:
        def after_optimizer(self) -> None:
            advanced.append(1)

        def close(self) -> None:
            raise AssertionError("nobody else counts")

    count = start_up().OptimizerSteps(Steps)
    first, second = Optimizer(), Optimizer()
    for each in (first, second, first, second):
        count(each)
    assert len(advanced) == 2
    del first, each
    count(second)
    assert len(advanced) == 3


@pytest.mark.parametrize("launched", [True, False])
def test_one_line_in_the_script_counts_the_optimizers_steps(image: Path, launched: bool) -> None:
    """With the launcher or without: the probe that the script starts is told, from whenever it starts."""
    script = "\n".join(
        (
            "import mfu_probe",
            "from torch.optim.optimizer import Optimizer",
            "optimizer = Optimizer()",
            "for _ in range(3): optimizer.step()",
            "probe = mfu_probe.start(flops_per_step=1e9, peak_flops=1e12)",
            "for _ in range(5): optimizer.step()",
            "print(probe.completed_steps, probe.serving, probe.snapshot().mfu_ratio > 0)",
        )
    )
    command = [sys.executable, "-c", script]
    if launched:
        done = ran(image, *command, MFU_PROBE_PORT=free_port())
    else:
        paths = os.pathsep.join([str(image / "site"), str(ROOT / "operator")])
        environment = {**os.environ, "PYTHONPATH": paths, "MFU_PROBE_PORT": free_port()}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["4", "True", "True"], done.stderr
    assert done.stderr == ""


def test_a_copy_that_nobody_instrumented_ends_after_its_window(image: Path) -> None:
    script = (
        "from torch.optim.optimizer import Optimizer\noptimizer = Optimizer()\n"
        "for step in range(1000): optimizer.step()\nprint('never')"
    )
    window = {"MFU_PROBE_CAPTURE_STEPS": "3", "MFU_PROBE_CAPTURE_WARMUP_STEPS": "2"}
    done = ran(image, sys.executable, "-c", script, **window)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_forked_child_of_the_script_ends(image: Path) -> None:
    script = "\n".join(
        (
            "import mfu_probe, os, sys",
            "probe = mfu_probe.start()",
            "child = os.fork()",
            "if child == 0: sys.exit(3)",
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), probe.serving)",
        )
    )
    done = ran(image, sys.executable, "-c", script, MFU_PROBE_PORT=free_port())
    assert done.stdout.split() == ["3", "True"], done.stderr


def test_every_file_of_the_probe_is_python_3_9() -> None:
    files = sorted(PROBE.rglob("*.py"))
    assert files
    for path in files:
        ast.parse(path.read_text(), feature_version=(3, 9))


def interpreters() -> list[str]:
    """Every Python from 3.9 that this machine has: on the path, or as a version of pyenv's."""
    on_path = [found for minor in range(9, 15) if (found := shutil.which(f"python3.{minor}"))]
    of_pyenv = [str(each) for each in sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))]
    return [each for each in (sys.executable, *on_path, *of_pyenv) if version_of(each) >= (3, 9)]


def version_of(interpreter: str) -> tuple[int, int]:
    program = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([interpreter, "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False)
    numbers = done.stdout.split() if done.returncode == 0 else ["0", "0"]
    return int(numbers[0]), int(numbers[1])


@pytest.mark.parametrize("interpreter", interpreters())
def test_the_probe_imports_without_any_other_package(interpreter: str, tmp_path: Path) -> None:
    """A training image has what it has: neither prometheus-client nor nvtx nor torch is needed."""
    found = f"import sys; sys.path.insert(0, {str(PROBE.parent)!r})"
    program = f"{found}; import mfu_probe, mfu_probe.live.launch; mfu_probe.Probe()"
    done = subprocess.run(
        [interpreter, "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
