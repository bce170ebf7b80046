"""Repositories whose hosts hang, or whose charts never end, delay no other namespace by more than one sweep."""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from mfu_operator.adapters.git.process import run
from mfu_operator.adapters.git.protocol import FETCHED, TURN
from mfu_operator.adapters.git.repository import DEADLINE_S, watched
from mfu_operator.cycle.bulkheads import Dependency, HostSlots
from mfu_operator.cycle.repository_reads import RENDER_SURE_S, RepositoryRead
from mfu_operator.errors import Wait
from mfu_operator.ports import PLACE
from mfu_operator.settings import Settings

TICK_S, SWEEP_S = round(Settings().reconcile_interval_s), round(Settings().sweep_interval_s)
HOUR_S = 3600


@pytest.fixture(autouse=True)
def no_place() -> Iterator[None]:
    """Looks that a test leaves under way are nobody else's."""
    PLACE.set(None)
    yield
    PLACE.set(None)


@dataclass(eq=False)
class Under:
    """A read under way, as its adapter has it: it fetches for so long, then renders for so long where it may."""

    namespace: str
    held: ExitStack
    place: RepositoryRead
    began_s: float
    fetches_s: float
    renders_s: float
    rendered_s: float = 0.0


@dataclass
class Machine:
    """Looks second by second. Hostile namespaces ask again every five seconds, whatever they were told."""

    hostile: Mapping[str, tuple[float, float]]
    """What the reads of each take to fetch and to render, in seconds."""

    host: str
    closing: ExitStack = field(default_factory=ExitStack)
    now_s: float = 0.0
    under_way: list[Under] = field(default_factory=list)
    done: list[tuple[str, float]] = field(default_factory=list)
    """Namespaces whose reads were done, and when."""

    def __post_init__(self) -> None:
        self.slots = HostSlots(lambda: self.now_s)

    def ask(self, namespace: str, fetches_s: float, renders_s: float) -> bool:
        held = self.closing.enter_context(ExitStack())
        try:
            held.enter_context(self.slots.of(Dependency.GIT, self.host.format(namespace=namespace), namespace))
        except Wait:
            return False
        place = PLACE.get()
        assert isinstance(place, RepositoryRead)
        self.under_way.append(Under(namespace, held, place, self.now_s, fetches_s, renders_s))
        return True

    def second(self) -> None:
        """One second passes for everybody."""
        for each in tuple(self.under_way):
            if each.fetches_s > 0:
                each.fetches_s -= 1
            elif each.place.may_render():
                each.rendered_s += 1
            over = each.fetches_s <= 0 and each.rendered_s >= each.renders_s
            if over:
                self.done.append((each.namespace, self.now_s))
            if over or each.place.needed or self.now_s >= each.began_s + DEADLINE_S:
                self.under_way.remove(each)
                each.held.close()
        self.now_s += 1
        for number, namespace in enumerate(self.hostile):
            if (number + int(self.now_s)) % min(5, len(self.hostile)) == 0:
                self.ask(namespace, *self.hostile[namespace])

    def waits_s(self, namespace: str, fetches_s: float, renders_s: float) -> float:
        """How long an incident of a namespace waits for its answer beyond the time that the read takes by itself, when
        it is asked for at every tick."""
        began_s = self.now_s
        while namespace not in dict(self.done):
            if (self.now_s - began_s) % TICK_S == 0 and not any(each.namespace == namespace for each in self.under_way):
                self.ask(namespace, fetches_s, renders_s)
            assert self.now_s < began_s + HOUR_S, "it is never done"
            self.second()
        return dict(self.done)[namespace] + 1 - began_s - fetches_s - renders_s


def named(count: int, fetches_s: float, renders_s: float) -> Mapping[str, tuple[float, float]]:
    return {f"hostile-{number}": (fetches_s, renders_s) for number in range(count)}


OWN_HOSTS, ONE_HOST = "{namespace}.example", "git.example"
HOSTILE = {
    "thirty whose hosts hang": (named(30, 999, 0), OWN_HOSTS),
    "thirty whose reads hang at the host of the others": (named(30, 999, 0), ONE_HOST),
    "one that hangs": (named(1, 999, 0), OWN_HOSTS),
    "one whose charts never end": (named(1, 2, 999), OWN_HOSTS),
    "thirty whose charts never end": (named(30, 2, 999), OWN_HOSTS),
    "thirty of both kinds": ({**named(15, 1, 999), **{f"slow-{n}": (999.0, 0.0) for n in range(15)}}, OWN_HOSTS),
}


@contextmanager
def under(attack: str, since_s: int) -> Iterator[Machine]:
    """A machine under an attack that began so long ago."""
    machine = Machine(*HOSTILE[attack])
    with machine.closing:
        while machine.now_s < since_s:
            machine.second()
        yield machine


ATTACKS = [each for each in HOSTILE if each != "one that hangs"]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("after_s", [500, 503, 1500])
def test_a_look_of_another_waits_less_than_a_sweep(attack: str, after_s: int) -> None:
    with under(attack, after_s) as machine:
        assert machine.waits_s("team-a", 3, 5) <= SWEEP_S


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_look_that_takes_a_minute_by_itself_is_not_ended_for_them(attack: str) -> None:
    with under(attack, 1500) as machine:
        assert machine.waits_s("team-a", 20, 40) <= SWEEP_S


FIRST_S = [0, 7, 20, 60]
"""After the first second of an attack."""


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("after_s", FIRST_S)
def test_in_its_first_minutes_a_read_waits_for_one_slice_of_each_that_attacks(attack: str, after_s: int) -> None:
    with under(attack, after_s) as machine:
        assert machine.waits_s("team-a", 3, 3) <= len(machine.hostile) * RENDER_SURE_S + SWEEP_S


@pytest.mark.parametrize("hostile", [named(6, 2, 999), named(12, 999, 0)], ids=["charts", "hosts"])
@pytest.mark.parametrize("after_s", FIRST_S)
def test_six_whose_charts_never_end_or_twelve_whose_hosts_hang_delay_nobody_by_more_than_a_sweep(
    hostile: Mapping[str, tuple[float, float]], after_s: int
) -> None:
    machine = Machine(hostile, OWN_HOSTS)
    with machine.closing:
        while machine.now_s < after_s:
            machine.second()
        assert machine.waits_s("team-a", 3, 5) <= SWEEP_S


@pytest.mark.parametrize("after_s", FIRST_S)
def test_in_its_first_minutes_a_read_of_a_minute_is_done_within_five_more(after_s: int) -> None:
    with under("thirty whose charts never end", after_s) as machine:
        assert machine.waits_s("team-a", 20, 40) <= 300


def test_reads_of_many_teams_that_all_take_long_are_all_done() -> None:
    machine, teams = Machine({}, OWN_HOSTS), {f"team-{number}" for number in range(6)}
    with machine.closing:
        while machine.now_s < HOUR_S:
            asked = {each.namespace for each in machine.under_way} | set(dict(machine.done))
            for team in teams - asked if machine.now_s % TICK_S == 0 else ():
                machine.ask(team, 3, 60)
            machine.second()
    assert set(dict(machine.done)) == teams


def test_nobody_gives_way_where_there_is_room() -> None:
    with under("one that hangs", 100) as machine:
        held = tuple(machine.under_way)
        assert held and machine.waits_s("team-a", 3, 5) <= 1
        assert set(held) <= set(machine.under_way)


class Needed:
    """A place that is needed, or may render, once the test says so."""

    needed = False
    renders = False

    def may_render(self) -> bool:
        return self.renders


def test_a_process_whose_place_is_needed_is_ended(tmp_path: Path) -> None:
    place = Needed()
    PLACE.set(place)
    place.needed = True
    with pytest.raises(Wait, match="ended for another namespace") as raised:
        run([sys.executable, "-c", "import time; time.sleep(60)"], b"", {}, str(tmp_path), 60.0, 100,
            watched(tmp_path, "https://git.example/a"))  # fmt: skip
    assert raised.value.reason == "HostBusy"


def test_a_process_renders_once_it_fetched_and_may(tmp_path: Path) -> None:
    place, said = Needed(), list[bytes]()
    program = (
        "from pathlib import Path",
        "from mfu_operator.investigate.turns import turn",
        "with turn(Path()): print('rendered')",
    )
    PLACE.set(place)
    watch = watched(tmp_path, "https://git.example/a")
    command, env = [sys.executable, "-c", "\n".join(program)], {"PYTHONPATH": os.environ["PYTHONPATH"]}
    running = Thread(target=lambda: said.append(run(command, b"", env, str(tmp_path), 60.0, 100, watch).out))
    running.start()
    ends_s = time.monotonic() + 30
    while not (tmp_path / FETCHED).exists():
        assert time.monotonic() < ends_s
    assert not (tmp_path / TURN).exists() and not said
    place.renders = True
    running.join(30)
    assert said == [b"rendered\n"]
