"""The same steps on every rank: read where each is, choose steps ahead of all, ask; where one cannot, choose again."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median, median_low

from mfu_operator.adapters.capture_api import NOT_NOW, TOO_LATE, TOO_SOON, Described, RankError, Refused
from mfu_operator.coordinate.crew import Crew, Rank
from mfu_operator.errors import Unreadable
from mfu_operator.profiling.live.request import CaptureRequest
from mfu_operator.profiling.live.steps import Window, alike, counting_apart, until_next_round, window_of

MOST_TRIES = 5
"""Of choosing steps: a run whose ranks are past the first one five times in a row steps faster than it can be asked."""

RUNNING = "running"
AGAIN = frozenset({409, TOO_LATE, NOT_NOW, TOO_SOON})
"""Refusals after which the same rank may accept another request."""

KINETO = "kineto"
POLLS_APART_S = 24.0
"""Kineto polls every 5 s: of so long a time a fifth is spent so near to its end that ranks hear of it on both sides."""

LEAD_S = 8.0
"""Until the last rank has polled, with what asking takes."""

FIRST_ROUND_UP = 50
"""Steps, while it is not known how long one takes: fast runs need more and are asked again, slow ones wait less."""

ROUNDS = 3.0
"""How many times as long as asking takes the first step is away, on a network that is not quiet."""

PAUSE_S = 5.0
"""Between two questions of ranks that ask for a pause after their last capture."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was asked of every rank that is left: a capture's id, and which steps it records. `round_up` is what
    Kineto's daemon protocol takes in place of the first one."""

    capture: str
    window: Window
    round_up: int


@dataclass(frozen=True, slots=True)
class Beat:
    """When ranks reached a multiple of `round_up` steps, Unix seconds: the next multiples are known by it."""

    begun_s: float
    round_up: int


def agreed(crew: Crew, request: CaptureRequest, round_: int, beat: Beat | None = None) -> Agreement:
    """The steps that every rank which is left has accepted.

    Args:
        crew: ranks that cannot are dropped.
        request: what is wanted.
        round_: which capture of this Job, so that each has an id of its own.
        beat: the multiples of steps at which recorders began in the capture before; None if there was none.

    Raises:
        Unreadable: (CaptureFailed) where no rank accepts.
    """
    late = 0
    ready_by_s = time.monotonic() + min(crew.pace.ready_s, crew.left_s() / 2)
    for attempt in range(MOST_TRIES):
        described = _ready(crew, ready_by_s)
        begun_s = time.monotonic()
        described = crew.described() if described is None else described
        if not crew.ranks:
            break
        window = _window(crew, request, described, time.monotonic() - begun_s, late)
        capture = f"{request.id[:55].rstrip('-')}-{round_}-{attempt}"
        agreement = Agreement(capture, window, _round_up(described, window))
        _keep_time(crew, described, agreement, beat)
        refused = _asked(crew, agreement)
        if not refused or (attempt == MOST_TRIES - 1 and len(refused) < len(crew.ranks)):
            crew.drop(refused)
            crew.tell(_told(crew, window))
            return agreement
        _settle(crew, capture, refused)
        late += any(isinstance(one, Refused) and one.status == TOO_LATE for one in refused.values())
    raise Unreadable("CaptureFailed", f"no steps could be agreed on: {_last_words(crew)}")


def _ready(crew: Crew, ends_s: float) -> Mapping[int, Described] | None:
    """How the ranks stand once all of them train and none is busy; None where that lasts too long."""
    told = False
    while True:
        described = crew.described()
        if all(one.phase in (None, RUNNING) and not one.busy for one in described.values()):
            return described
        if time.monotonic() >= ends_s:
            return None
        if not told:
            crew.tell("waiting for ranks that do not train now, or are being captured already")
            told = True
        time.sleep(crew.pace.poll_s)


def _window(
    crew: Crew, request: CaptureRequest, described: Mapping[int, Described], asking_s: float, late: int
) -> Window:
    steps = {number: one.step for number, one in described.items() if one.step is not None}
    apart = counting_apart(steps)
    crew.drop(
        {
            number: RankError("CountsApart", f"rank {number} is at step {step}, far from the others: it restarted")
            for number, step in apart.items()
        }
    )
    kept = [one for number, one in described.items() if number not in apart]
    most = median_low(one.most_steps for one in kept)
    margin_s = max(crew.pace.margin_s, ROUNDS * asking_s)
    counts = [step for number, step in steps.items() if number not in apart] or [0]
    return window_of(counts, [one.step_seconds for one in kept], request.steps, most, margin_s, late)


def _round_up(described: Mapping[int, Described], window: Window) -> int:
    """More steps than pass between the polls of two ranks. How long a step takes is known after the first trace; where
    another multiple was taken by some, ranks are asked again with that."""
    known = alike([one.step_seconds for one in described.values() if one.step_seconds])
    return max(window.steps + 1, math.ceil(POLLS_APART_S / min(known)) if known else FIRST_ROUND_UP)


def _keep_time(crew: Crew, described: Mapping[int, Described], agreement: Agreement, beat: Beat | None) -> None:
    """Ask soon after a multiple, where it is known when they are: then every rank has polled before the next one."""
    known = [one.step_seconds for one in described.values() if one.step_seconds]
    if beat is None or not known or beat.round_up != agreement.round_up:
        return
    wait_s = until_next_round(beat.begun_s, beat.round_up * median(known), time.time(), LEAD_S)
    time.sleep(min(wait_s, crew.left_s()))


def _asked(crew: Crew, agreement: Agreement) -> dict[int, RankError]:
    steps = agreement.window.steps

    def ask(rank: Rank) -> None:
        if rank.recorder == KINETO:
            rank.api.capture_rounded(agreement.capture, agreement.round_up, steps)
        else:
            rank.api.capture(agreement.capture, agreement.window.first, steps)

    answers = crew.each(ask)
    return {number: answer for number, answer in answers.items() if isinstance(answer, RankError)}


def _settle(crew: Crew, capture: str, refused: Mapping[int, RankError]) -> None:
    """Undo what was accepted, leave out who never will, and wait where a pause is asked for."""
    crew.each(lambda rank: rank.api.forget(capture) if rank.number not in refused else None)
    for number, error in refused.items():
        crew.tell(f"rank {number} cannot yet: {error.message}")
    crew.drop(
        {number: error for number, error in refused.items() if isinstance(error, Refused) and error.status not in AGAIN}
    )
    if any(isinstance(error, Refused) and error.status == TOO_SOON for error in refused.values()):
        _await_pause(crew, refused)


def _await_pause(crew: Crew, refused: Mapping[int, RankError]) -> None:
    """A rank asks for a pause between captures and does not say how long: the contract's least one, in parts."""
    ends_s = time.monotonic() + min(7 * PAUSE_S, crew.left_s() / 3)
    while time.monotonic() < ends_s:
        time.sleep(min(crew.pace.poll_s * 10, PAUSE_S))


def _told(crew: Crew, window: Window) -> str:
    if all(rank.recorder == KINETO for rank in crew.ranks):
        return f"{len(crew.ranks)} ranks record {window.steps} steps"
    return f"{len(crew.ranks)} ranks record steps {window.first} to {window.first + window.steps - 1}"


def _last_words(crew: Crew) -> str:
    return "; ".join(dict.fromkeys(one.message for one in crew.missing[-3:])) or "every rank refused each time"
