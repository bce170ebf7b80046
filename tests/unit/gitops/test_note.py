"""The operator's comment on a pull request, as a reviewer reads it."""

from dataclasses import replace

import pytest

from mfu_operator.gitops.note import SHOWN, note, withdrawal
from mfu_operator.model.proposal import Closing
from mfu_operator.model.sharer import Sharer, Stage

AT = 1767236400.0
GPT = Sharer("training/gpt", "https://x", "mfu", 0.4, 0.2, AT, suspect="a" * 40)


def now(sharer: Sharer) -> str:
    """The last cell of the only row."""
    return note([sharer]).splitlines()[4].split(" | ")[-1].removesuffix(" |")


def test_one_baseline_is_one_row() -> None:
    assert note([GPT]) == (
        "This pull request is about one training job.\n\n"
        "| baseline | measured | before | while slow | slow since | now |\n"
        "| :-- | --: | --: | --: | --: | --: |\n"
        "| `training/gpt` | MFU | 0.400 | 0.200 | 2026-01-01 03:00 UTC | slow |"
    )


@pytest.mark.parametrize("count", [2, SHOWN, SHOWN + 2])
def test_of_many_baselines_the_first_are_shown_and_the_rest_counted(count: int) -> None:
    text = note([replace(GPT, baseline=f"b{number}") for number in range(count)])
    assert text.startswith(f"This pull request is about {count} training jobs.")
    assert text.count("| `b") == min(count, SHOWN)
    assert text.endswith("\n\nand 2 more.") is (count > SHOWN)


@pytest.mark.parametrize(
    ("sharer", "told"),
    [
        (replace(GPT, merged=True), "slow; the merge is being watched"),
        (replace(GPT, staged_at=AT, merged=True), "slow; the merge is being watched"),
        (replace(GPT, stage=Stage.RECOVERED), "**recovered**"),
        (replace(GPT, stage=Stage.RECOVERED, staged_at=AT), "**recovered** at 2026-01-01 03:00 UTC"),
        (replace(GPT, stage=Stage.RECOVERED, staged_at=AT, after=0.41), "**recovered** at 2026-01-01 03:00 UTC: 0.410"),
        (replace(GPT, stage=Stage.ENDED, staged_at=AT), "not followed any more at 2026-01-01 03:00 UTC"),
        (replace(GPT, stage=Stage.EXONERATED, staged_at=AT),
         "**not recovered** after the merge; decided at 2026-01-01 03:00 UTC"),
    ],
)  # fmt: skip
def test_what_became_of_each_is_told(sharer: Sharer, told: str) -> None:
    assert now(sharer) == told


def test_where_the_merge_did_not_help_the_way_back_is_told() -> None:
    helped = replace(GPT, baseline="ok", stage=Stage.RECOVERED)
    not_helped = replace(GPT, baseline="b", stage=Stage.EXONERATED, merge_sha="c" * 40, suspect="d" * 40)
    text = note([GPT, helped, not_helped, replace(not_helped, baseline="e")])
    assert (
        "The merge was rolled out to `b`, `e` and the training stayed slow, so commit `dddddddddddd` did not cause"
    ) in text
    assert text.endswith(f"```\ngit revert -m 1 {'c' * 40}\n```\n\n(without `-m 1` where it was squashed or rebased).")
    assert "git revert" not in note([replace(not_helped, merge_sha=None)])
    assert "did not cause" not in note([GPT, helped])


@pytest.mark.parametrize(
    ("closing", "did", "again"),
    [
        (Closing.REJECTED, "Rejected by command, and closed", "The operator does not propose it again."),
        (Closing.NOT_NEEDED, "Withdrawn", "If the loss comes back, the operator proposes again."),
    ],
)
def test_a_closed_pull_request_says_who_closed_it_and_what_follows(closing: Closing, did: str, again: str) -> None:
    assert withdrawal("it recovered <b>", closing) == (
        f"> **{did} by mfu-operator:** it recovered &lt;b\\>. Nothing was changed. {again} Reopen this pull request if "
        "you want the change all the same."
    )
