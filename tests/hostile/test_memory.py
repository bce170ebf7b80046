"""Repositories that take much memory do not together end the operator, which shares its container with them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mfu_operator.adapters.git import limits, memory
from mfu_operator.adapters.git.process import run
from mfu_operator.adapters.git.protocol import TURN, Action, Identity, Request, decode_answer, encode
from mfu_operator.adapters.git.repository import watched
from mfu_operator.cycle.bulkheads import OF_A_KIND, Dependency
from mfu_operator.errors import Wait
from mfu_operator.model.commit import Source

MIB = 1 << 20
LIMIT = 1536 * MIB
TAKES = "import time; held = bytearray(b'x' * ({} << 20)); print('taken', flush=True); time.sleep({})"
BY_ANOTHER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TAKES.format(200, 60)!r}])"


SHORT, SCARCE = memory.SHORT + 0.01, memory.SCARCE + 0.01


def look(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch, share: float) -> bytes:
    """What a look's process says that does this while so much of the container's memory is taken."""
    monkeypatch.setattr(memory, "share", lambda: share)
    watch = watched(folder, "https://git.example/a")
    return run([sys.executable, "-c", program], b"", {}, str(folder), 30.0, 100, watch).out


@pytest.mark.parametrize("program", [TAKES.format(200, 60), BY_ANOTHER], ids=["itself", "a git that it started"])
@pytest.mark.parametrize(("share", "renders"), [(SHORT, False), (SCARCE, True)])
def test_a_look_that_takes_much_is_ended_while_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, share: float, renders: bool
) -> None:
    if renders:
        (tmp_path / TURN).touch()
    with pytest.raises(Wait, match="MiB while the operator was short of memory") as raised:
        look(tmp_path, program, monkeypatch, share)
    assert raised.value.reason == "HostBusy"


def test_one_that_takes_little_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, TAKES.format(20, 0.5), monkeypatch, SCARCE) == b"taken\n"


def test_those_that_fetch_give_way_before_the_one_that_renders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / TURN).touch()
    assert look(tmp_path, TAKES.format(200, 0.5), monkeypatch, SHORT) == b"taken\n"


def test_while_there_is_enough_a_look_takes_what_its_own_limit_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look(tmp_path, TAKES.format(200, 0.5), monkeypatch, memory.SHORT) == b"taken\n"


def test_a_dozen_that_fetch_and_the_operator_fit_into_the_charts_limit() -> None:
    chart = yaml.safe_load((Path(__file__).parents[2] / "charts/mfu-operator/values.yaml").read_text())
    limit = int(chart["resources"]["limits"]["memory"].removesuffix("Mi")) * MIB
    operator = 300 * MIB  # charts/mfu-operator/README.md, `resources`
    fetching = OF_A_KIND[Dependency.GIT].of_all + (OF_A_KIND[Dependency.GIT].of_firsts or 0) - 1
    assert operator + fetching * memory.MUCH_BYTES < limit


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({"memory.max": f"{LIMIT}", "memory.stat": f"anon {LIMIT // 2}\nfile {LIMIT}"}, 0.5),
        ({"memory.max": "max", "memory.stat": f"anon {LIMIT}"}, 0.0),
        ({"memory/memory.limit_in_bytes": f"{LIMIT}", "memory/memory.stat": f"rss 1\ntotal_rss {LIMIT // 4}"}, 0.25),
        ({"memory/memory.limit_in_bytes": f"{2**63 - 4096}", "memory/memory.stat": f"total_rss {LIMIT}"}, 0.0),
        ({}, 0.0),
    ],
    ids=["files do not count", "no limit", "the first version", "no limit there", "no cgroup"],
)
def test_what_is_taken_is_the_containers_own_account(tmp_path: Path, files: dict[str, str], share: float) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory.share(tmp_path) == pytest.approx(share, abs=1e-6)


def test_what_ended_takes_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert memory.taken(ended.pid) == 0


def test_the_process_that_serves_a_request_is_held_to_its_limits(tmp_path: Path) -> None:
    program = (
        "import resource",
        "from mfu_operator.adapters.git.protocol import Answer",
        "from mfu_operator.investigate import child",
        "child.answer = lambda request: Answer(text=str(resource.getrlimit(resource.RLIMIT_DATA)[0]))",
        "child.main()",
    )
    source = Source("https://git.example/a", "main", "", (), None)
    request = encode(Request(Action.PREVIEW, source.repository, str(tmp_path), source, Identity()))
    env = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    done = run([sys.executable, "-c", "\n".join(program)], request, env, str(tmp_path), 60.0, 1000)
    assert decode_answer(done.out).text == str(limits.DATA_BYTES)
