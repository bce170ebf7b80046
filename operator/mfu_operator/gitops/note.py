"""The operator's one comment on a pull request: which baselines it is about, and what became of each."""

from collections.abc import Sequence
from datetime import UTC, datetime

from mfu_operator.gitops.markdown import code, escape, table
from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.proposal import Closing
from mfu_operator.model.sharer import Sharer, Stage

SHOWN = 25
"""Baselines in the table; how many more there are is said."""


def note(about: Sequence[Sharer]) -> str:
    """The comment's text; at least one baseline, in the order in which they are shown."""
    rows: list[tuple[str, ...]] = [
        (
            code(each.baseline),
            signal_name(each.signal),
            value(each.signal, each.before),
            value(each.signal, each.slow),
            _time(each.since_at),
            _now(each),
        )
        for each in about[:SHOWN]
    ]
    more = f"\n\nand {len(about) - SHOWN} more." if len(about) > SHOWN else ""
    count = f"{len(about)} training jobs" if len(about) > 1 else "one training job"
    head = table(("baseline", "measured", "before", "while slow", "slow since", "now"), rows)
    return "\n\n".join(filter(None, [f"This pull request is about {count}.", head + more, _exonerated(about)]))


def withdrawal(because: str, closing: Closing) -> str:
    """What stands above the description of a pull request that the operator closed."""
    if closing is Closing.REJECTED:
        did = "Rejected by command, and closed"
        again = "The operator does not propose it again."
    else:
        did = "Withdrawn"
        again = "If the loss comes back, the operator proposes again."
    return (
        f"> **{did} by mfu-operator:** {escape(because)}. Nothing was changed. {again} Reopen this pull request if you "
        "want the change all the same."
    )


def _now(each: Sharer) -> str:
    at = f" at {_time(each.staged_at)}" if each.staged_at is not None else ""
    match each.stage:
        case Stage.RECOVERED:
            after = f": {value(each.signal, each.after)}" if each.after is not None else ""
            return f"**recovered**{at}{after}"
        case Stage.EXONERATED:
            return f"**not recovered** after the merge; decided{at}"
        case Stage.UNDONE:
            return "slow: **a later commit took the merge back**"
        case Stage.ENDED:
            return f"not followed any more{at}"
        case Stage.SLOW:
            return "slow; the merge is being watched" if each.merged else "slow"


def _exonerated(about: Sequence[Sharer]) -> str:
    """What to do where the merge did not help."""
    found = next((each for each in about if each.stage is Stage.EXONERATED), None)
    if found is None:
        return ""
    names = ", ".join(code(each.baseline) for each in about if each.stage is Stage.EXONERATED)
    undo = ""
    if found.merge_sha is not None:
        undo = (
            "\n\nTo have the change back, revert this pull request, with your host's button or by\n\n"
            f"```\ngit revert -m 1 {found.merge_sha}\n```\n\n(without `-m 1` where it was squashed or rebased)."
        )
    blamed = f"commit {code(found.suspect[:12])}" if found.suspect else "what it pins"
    again = "blame" if found.suspect else "propose"
    return (
        f"The merge was rolled out to {names} and the training stayed slow, so {blamed} did not cause that. The "
        f"operator does not {again} it for this loss again and considers the other commits.{undo}"
    )


def _time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
