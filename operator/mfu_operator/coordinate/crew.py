"""The ranks of one capture: found by their pods, asked side by side; who is missing, and why."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from mfu_operator.adapters.capture_api import Described, RankApi, RankError, RankUnreachable
from mfu_operator.profiling.live.choice import chosen
from mfu_operator.profiling.live.request import MOST_TARGETS, CaptureRequest, TargetPod

T = TypeVar("T")
R = TypeVar("R")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things are waited for, in seconds.

    timeout_s: for one answer. patience_s: for a rank of which nothing is heard. poll_s: between two looks at a capture.
    ready_s: for ranks that checkpoint, evaluate, start or are busy. margin_s: between asking and the first recorded
    step, at least: asking 64 ranks takes well under a second on a quiet network.
    """

    timeout_s: float = 10.0
    patience_s: float = 30.0
    poll_s: float = 0.5
    ready_s: float = 240.0
    margin_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Missing:
    """A rank that is not in the account. `rank` is None where it never said its number."""

    pod: TargetPod
    rank: int | None
    why: str
    message: str


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank that answers."""

    api: RankApi
    number: int
    world_size: int | None
    recorder: str

    @property
    def pod(self) -> TargetPod:
        """Where it runs."""
        return self.api.pod


@dataclass(slots=True)
class Crew:
    """The ranks that are still in it, and those that are not. `ends_s` is when all has to be over (monotonic)."""

    pace: Pace
    ends_s: float
    tell: Tell
    ranks: list[Rank] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def left_s(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.ends_s - time.monotonic())

    def each(self, act: Callable[[Rank], T]) -> Mapping[int, T | RankError]:
        """What comes of asking every rank, by its number."""
        results = side_by_side(act, self.ranks)
        return {rank.number: result for rank, result in zip(self.ranks, results, strict=True)}

    def drop(self, failed: Mapping[int, RankError]) -> None:
        """Go on without these ranks."""
        for rank in [one for one in self.ranks if one.number in failed]:
            error = failed[rank.number]
            self.ranks.remove(rank)
            self.missing.append(Missing(rank.pod, rank.number, error.why, error.message))
            self.tell(f"rank {rank.number} is left out: {error.why}: {error.message}")
            rank.api.close()

    def described(self) -> Mapping[int, Described]:
        """How each rank stands now. One that has failed for good, or says nothing for too long, is left out."""
        answers = self.each(lambda rank: patiently(rank.api.describe, self.pace, self.left_s()))
        self.drop({number: one for number, one in answers.items() if isinstance(one, RankError)})
        return {number: one for number, one in answers.items() if isinstance(one, Described)}


def gathered(request: CaptureRequest, token: str, pace: Pace, ends_s: float, tell: Tell) -> Crew:
    """The ranks to capture: of each pod the first one is asked how many there are, then those that are chosen."""
    crew = Crew(pace, ends_s, tell)
    firsts = [RankApi(pod, 0, token, pace.timeout_s) for pod in request.targets]
    answers = side_by_side(lambda api: patiently(api.describe, pace, crew.left_s()), firsts)
    candidates: list[tuple[tuple[RankApi, Described | None], str | None]] = []
    for api, answer in zip(firsts, answers, strict=True):
        if isinstance(answer, RankError):
            crew.missing.append(Missing(api.pod, api.pod.rank, answer.why, answer.message))
            tell(f"pod {api.pod.name} is left out: {answer.why}: {answer.message}")
            continue
        others = _beside(api.pod, answer, request, token, pace)
        candidates += [((api, answer), api.pod.node), *(((other, None), api.pod.node) for other in others)]
    taken = chosen(candidates, request.ranks, MOST_TARGETS)
    for (api, _), _ in candidates:
        if all(api is not one for one, _ in taken):
            api.close()
    _enrol(crew, taken)
    tell(f"{len(crew.ranks)} ranks answer, {len(crew.missing)} do not")
    return crew


def _beside(pod: TargetPod, first: Described, request: CaptureRequest, token: str, pace: Pace) -> list[RankApi]:
    """The other ranks of a pod. Where nobody says how many there are, those at whose ports somebody answers at once."""
    if pod.processes is not None or first.world_size is not None:
        count = _processes(pod, first, request)
        return [RankApi(pod, local, token, pace.timeout_s) for local in range(1, count)]
    found: list[RankApi] = []
    for local in range(1, MOST_TARGETS):
        api = RankApi(pod, local, token, pace.timeout_s)
        try:
            api.describe()
        except RankError:
            api.close()
            break
        found.append(api)
    return found


def _processes(pod: TargetPod, first: Described, request: CaptureRequest) -> int:
    """Ranks of a pod: as the workload says, or the run's share."""
    if pod.processes is not None:
        return min(pod.processes, MOST_TARGETS)
    return 1 if first.world_size is None else min(max(1, first.world_size // request.pods), MOST_TARGETS)


def _enrol(crew: Crew, taken: Sequence[tuple[RankApi, Described | None]]) -> None:
    def ask(one: tuple[RankApi, Described | None]) -> Described:
        api, known = one
        return known if known is not None else patiently(api.describe, crew.pace, crew.left_s())

    for (api, _), answer in zip(taken, side_by_side(ask, taken), strict=True):
        if isinstance(answer, RankError):
            crew.missing.append(Missing(api.pod, None, answer.why, answer.message))
            continue
        number = answer.rank if answer.rank is not None else _supposed(crew, api)
        twin = next((one for one in crew.ranks if one.number == number), None)
        if twin is not None:
            told = f"pods {twin.pod.name} and {api.pod.name} both say that they are rank {number}"
            crew.missing.append(Missing(api.pod, number, "RankTwice", told))
            continue
        crew.ranks.append(Rank(api, number, answer.world_size, answer.recorder))
    crew.ranks.sort(key=lambda rank: rank.number)


def _supposed(crew: Crew, api: RankApi) -> int:
    """The number of a rank that does not know its own: as its pod's marks say, else the next one."""
    if api.pod.rank is not None:
        return api.pod.rank + api.local_rank
    return max((rank.number for rank in crew.ranks), default=-1) + 1


def patiently(ask: Callable[[], T], pace: Pace, left_s: float) -> T:
    """The answer of a rank that may not be reached at once. Raises RankError."""
    ends_s = time.monotonic() + min(pace.patience_s, left_s)
    while True:
        try:
            return ask()
        except RankUnreachable:
            if time.monotonic() + pace.poll_s >= ends_s:
                raise
            time.sleep(pace.poll_s)


def side_by_side(act: Callable[[T], R], things: Sequence[T]) -> list[R | RankError]:
    """What comes of each, asked at the same time."""

    def guarded(thing: T) -> R | RankError:
        try:
            return act(thing)
        except RankError as error:
            return error

    if not things:
        return []
    with ThreadPoolExecutor(max_workers=len(things)) as pool:
        return list(pool.map(guarded, things))
