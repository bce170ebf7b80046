"""Every effect asks first, and a host that hangs takes its share and no more."""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import mfu_operator
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.bulkheads import (
    OF_A_HOST,
    OF_A_KIND,
    WAITS_S,
    Dependency,
    HostSlots,
    TickSlots,
)
from mfu_operator.cycle.guarded import guarded
from mfu_operator.errors import Abandoned, Wait
from mfu_operator.ports import PLACE, Cluster, Credentials, Forge, Repository, is_effect
from mfu_operator.process.leader import Lease
from tests.faults.effects import WRITES, ports_with_methods
from tests.support import worlds
from tests.support.adapters_double import Stage

GUARDED = list(dict.fromkeys(port for port, name in ports_with_methods() if is_effect(port, name)))
GUARDED.remove(Lease)
"""Every port that has an effect, but the one that the permit itself comes from."""

WRITING = re.compile(
    r".*\.(create|replace|patch|delete)_(namespaced|cluster|custom)\w*|(self\._)?api\.(post|put|patch|delete|change)"
)


@pytest.fixture(autouse=True)
def no_place() -> Iterator[None]:
    """Looks that a test leaves under way are nobody else's."""
    PLACE.set(None)
    yield
    PLACE.set(None)


def methods(port: type) -> list[str]:
    return [name for kind, name in ports_with_methods() if kind is port]


def callers(folder: Path) -> Iterator[tuple[str, str]]:
    """The functions that call something by which an API server or a forge is written to: their file and name. What a
    person types at a command line is not the operator's."""
    for path in sorted(set(folder.rglob("*.py")) - set((folder / "cli").rglob("*.py"))):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                called = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
                if any(WRITING.fullmatch(name) for name in called):
                    yield path.name, function.name


ASKING = ("azure.py", "bitbucket.py", "gitea.py", "github.py", "gitlab.py")
CALLED_BY_EFFECTS = {
    ("lease.py", "_write"),
    ("gitea.py", "_own_label"),
    ("http.py", "reviewers_unmet"),
    ("github_app.py", "_new"),  # a token for the App's key: nobody but its holder sees one
    *((forge, "_ask") for forge in ASKING),
}
"""What an effect calls to do its work, and what changes nothing that others see."""


def test_nothing_writes_to_an_api_server_or_a_forge_but_an_effect() -> None:
    effects = {method.partition(".")[2] for method in WRITES}
    found = set(callers(Path(mfu_operator.__file__).parent))
    assert {(file, name) for file, name in found if name not in effects} == CALLED_BY_EFFECTS


class Recording:
    """Notes which methods were called."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: self.called.append(name)


def of(adapters: Adapters, port: type) -> Any:
    if port is Forge:
        return adapters.forge(None, worlds.REPOSITORY, None, None)
    found: dict[type, Any] = {Cluster: adapters.cluster, Repository: adapters.repository}
    return found[port]


@pytest.mark.parametrize("port", GUARDED, ids=lambda port: port.__name__)
def test_a_replica_that_may_not_act_may_look_and_does_nothing(port: type) -> None:
    stage, inner = Stage(), Recording()
    recorded: Any = inner
    bare = Adapters(recorded, stage.adapters.sweep, {}, recorded, lambda *_: recorded)
    allowed = [True]
    found = of(guarded(bare, lambda: allowed[0], TickSlots(1)), port)
    for allowed[0] in (True, False):
        for name in methods(port):
            arguments = (worlds.source(),) if port is Repository else ()
            if is_effect(port, name) and not allowed[0]:
                with pytest.raises(Abandoned):
                    getattr(found, name)(*arguments)
            else:
                getattr(found, name)(*arguments)
    effects = [name for name in methods(port) if is_effect(port, name)]
    assert effects
    assert [inner.called.count(name) for name in effects] == [1] * len(effects)


def hang(slots: HostSlots, host: str, until: Event, namespace: str) -> Thread:
    begun = Event()

    def ask() -> None:
        with slots.of(Dependency.GIT, host, namespace):
            begun.set()
            until.wait(30)

    thread = Thread(target=ask, daemon=True)
    thread.start()
    assert begun.wait(10)
    return thread


def test_credentials_that_are_sent_as_they_are_ask_no_forge_for_a_token(stage: Stage) -> None:
    def asked(*_: object) -> Credentials | None:
        raise AssertionError("the forge was asked")

    exchange = guarded(replace(stage.adapters, exchange=asked), lambda: True, TickSlots(1)).exchange
    for given in (None, Credentials(password="t0ken")):
        assert exchange(None, "https://git.example", "https://git.example/team/models", given) is given


def test_a_host_that_hangs_has_its_share_and_others_have_theirs() -> None:
    slots, until = HostSlots(), Event()
    hanging = [hang(slots, "hangs.example", until, f"team-{number % 2}") for number in range(OF_A_HOST.of_all)]
    with pytest.raises(Wait) as raised, slots.of(Dependency.GIT, "hangs.example", "team-1"):
        pytest.fail("it was let through")
    assert raised.value.reason == "HostBusy"
    assert "hangs.example" in raised.value.message
    with slots.of(Dependency.GIT, "sound.example", "team-9"), slots.of(Dependency.FORGE, "hangs.example", "team-9"):
        pass
    until.set()
    for each in hanging:
        each.join(10)
    with slots.of(Dependency.GIT, "hangs.example", "team-9"):
        pass


def test_many_hosts_that_hang_are_bounded_together() -> None:
    slots, until = HostSlots(), Event()
    share = OF_A_KIND[Dependency.GIT]
    hostile = [f"hostile-{number % 2}" for number in range(share.of_all)]
    firsts = [f"team-{number}" for number in range(share.of_firsts or 0)]
    hanging = [hang(slots, f"host-{at}", until, namespace) for at, namespace in enumerate((*hostile, *firsts))]
    with pytest.raises(Wait), slots.of(Dependency.GIT, "one-more", "team-9"):
        pytest.fail("it was let through")
    with slots.of(Dependency.FORGE, "one-more", "team-9"):
        pass
    until.set()
    for each in hanging:
        each.join(10)


def test_a_namespace_that_does_not_ask_again_holds_no_place() -> None:
    now_s = [0.0]
    slots, until = HostSlots(lambda: now_s[0]), ExitStack()
    for number in range(12):
        until.enter_context(slots.of(Dependency.GIT, f"{number}.example", f"hostile-{number}"))
    with pytest.raises(Wait), slots.of(Dependency.GIT, "sound.example", "team-a"):
        pytest.fail("it was let through")
    until.close()
    for _ in range(11):
        until.enter_context(slots.of(Dependency.GIT, "a.example", f"hostile-{_}"))
    with pytest.raises(Wait), slots.of(Dependency.GIT, "b.example", "hostile-11"):
        pytest.fail("the last place is the other one's")
    now_s[0] = WAITS_S
    with slots.of(Dependency.GIT, "b.example", "hostile-11"):
        pass


def test_a_namespace_whose_hosts_hang_has_its_share_and_others_have_theirs() -> None:
    slots, until = HostSlots(), Event()
    most = OF_A_KIND[Dependency.GIT].of_one
    hanging = [hang(slots, f"host-{number}", until, "hostile") for number in range(most)]
    with pytest.raises(Wait, match="of this namespace"), slots.of(Dependency.GIT, "one-more", "hostile"):
        pytest.fail("it was let through")
    with slots.of(Dependency.GIT, "host-0", "team-a"), slots.of(Dependency.FORGE, "host-0", "hostile"):
        pass
    until.set()
    for each in hanging:
        each.join(10)


def test_a_tick_that_waits_for_a_host_lends_its_slot() -> None:
    slots = TickSlots(1)
    assert slots.take(0.0)
    with slots.lent():
        assert slots.take(0.0)
        slots.give_back()
    assert not slots.take(0.0)
