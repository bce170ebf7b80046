"""One live capture from the request to the account, within its deadline."""

import time
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.coordinate.agreement import Beat, agreed
from mfu_operator.coordinate.collect import PHASE_BEGAN, Recorded, beat_of, collected
from mfu_operator.coordinate.crew import Crew, Missing, Pace, Tell, gathered
from mfu_operator.coordinate.result import merged_account
from mfu_operator.errors import Unreadable
from mfu_operator.model.account import StepAccount
from mfu_operator.profiling.live.request import CaptureRequest

MOST_CAPTURES = 3
"""Of one Job: a checkpoint at the agreed steps ends a capture on every rank, and the next one is asked for others."""

FOR_THE_END = 0.1
"""Of the deadline, kept for the analysis of what was fetched last and for saying what is missing."""

UNHURRIED = Pace()


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture came to: the merged account, the ranks that are in it, and those that are not."""

    account: StepAccount
    recorded: tuple[Recorded, ...]
    missing: tuple[Missing, ...]


def captured(
    request: CaptureRequest, token: str, folder: Path, tell: Tell, pace: Pace = UNHURRIED, most_held: int = 0
) -> Captured:
    """Capture the same steps of every asked rank, and account for them.

    Args:
        request: whom to ask, and for what.
        token: of the capture API.
        folder: where traces lie until they are analysed.
        tell: progress, for a person.
        pace: how long things are waited for.
        most_held: bytes of traces that stay in the folder.

    Raises:
        Unreadable: TokenRefused, CaptureFailed: where not one rank was recorded.
    """
    ends_s = time.monotonic() + request.deadline_s * (1 - FOR_THE_END)
    crew = gathered(request, token, pace, ends_s, tell)
    best: tuple[list[Recorded], list[Missing]] = ([], [])
    beat: Beat | None = None
    for round_ in range(MOST_CAPTURES):
        if not crew.ranks:
            break
        before, missing = list(crew.ranks), list(crew.missing)
        try:
            agreement = agreed(crew, request, round_, beat)
        except Unreadable:
            if best[0]:
                break
            raise
        recorded = collected(crew, agreement, folder, most_held)
        beat = beat_of(recorded, agreement)
        if len(recorded) > len(best[0]):
            best = (recorded, list(crew.missing))
        last = round_ == MOST_CAPTURES - 1 or crew.left_s() <= 0
        if last or not _worth_another(crew, recorded, len(missing)):
            break
        tell("some ranks recorded other steps, or none recorded any; asking again")
        crew.ranks, crew.missing = before, missing
        for path in folder.iterdir():
            path.unlink()
    for rank in crew.ranks:
        rank.api.close()
    recorded, absent = best if best[0] else ([], crew.missing)
    return Captured(merged_account(recorded, absent), tuple(recorded), tuple(absent))


def _worth_another(crew: Crew, recorded: list[Recorded], before: int) -> bool:
    """Whether what is missing may come with another capture: where recorders chose different steps, a phase that began
    ended some, or each one ended for a reason that may pass."""
    new = {one.why for one in crew.missing[before:]}
    return bool(new & {"OtherSteps", PHASE_BEGAN}) or (not recorded and new == {"CaptureFailed"})
