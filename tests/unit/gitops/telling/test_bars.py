"""Bars of characters: as long as what they show, to one scale."""

import pytest

from mfu_operator.gitops.telling.bars import WIDTH, level_bars, step_bars
from mfu_operator.gitops.telling.details import PART_NAMES
from mfu_operator.model.account import StepAccount

NAMES = {
    "compute": "compute",
    "communication": "communication",
    "h2d": "copies",
    "idleInput": "waiting",
    "idleHost": "host",
}


def step(mean_ms: float, **parts_ms: float) -> StepAccount:
    return StepAccount(10, mean_ms * 1e6, 0.0, {part: amount * 1e6 for part, amount in parts_ms.items()})


def test_no_line_of_the_legend_is_wider_than_the_bars() -> None:
    parts = dict.fromkeys(("compute", "h2d", "idleInput", "idleHost", "idleLaunch"), 12)
    names = {part: f"idle: waiting for {part}" for part in parts}
    text = step_bars(step(60, **parts), step(60, **parts), names)
    assert max(map(len, text.splitlines())) <= 7 + WIDTH + len(" 1000.0 ms")
    legend = text.split("\n\n")[1].splitlines()
    assert len(legend) > 1 and all(line.startswith("       ") for line in legend)
    assert " ".join(legend).count("idle: waiting for") == 4


def test_the_longest_value_is_the_whole_width_and_names_are_in_line() -> None:
    full, half, dot = level_bars([("before", 0.4, "0.400"), ("now", 0.2, "0.200"), ("x", 0.0, "0")]).splitlines()
    assert full == f"before {'█' * WIDTH} 0.400"
    assert half == f"now    {'█' * (WIDTH // 2)} 0.200"
    assert dot == "x       0"


@pytest.mark.parametrize(("amount", "end"), [(1 / 8, "▏"), (4 / 8, "▌"), (7 / 8, "▉"), (1.0, "█")])
def test_a_bar_ends_in_an_eighth_of_a_character(amount: float, end: str) -> None:
    first = level_bars([("a", 1.0 + amount, ""), ("b", float(WIDTH), "")]).splitlines()[0]
    assert first == f"a █{end} "


@pytest.mark.parametrize("amounts", [(0.0, 0.0), (-1.0, 0.0)])
def test_nothing_has_no_bar(amounts: tuple[float, float]) -> None:
    assert level_bars([("a", amounts[0], "x"), ("b", amounts[1], "y")]) == "a  x\nb  y"
    assert level_bars([("a", -5.0, "x"), ("b", 1.0, "y")]).splitlines()[0] == "a  x"


def test_a_step_is_drawn_before_and_now_to_one_scale() -> None:
    before, now, empty, legend = step_bars(step(24, compute=24), step(48, compute=24, idleInput=24), NAMES).splitlines()
    assert before == f"before {'█' * 24} 24.0 ms"
    assert now == f"now    {'█' * 24}{'▓' * 24} 48.0 ms"
    assert (empty, legend) == ("", "       █ compute   ▓ waiting   · everything else")


def test_without_a_baseline_only_the_step_of_now_is_drawn() -> None:
    now, _, legend = step_bars(None, step(48, compute=12), NAMES).splitlines()
    assert now == f"now    {'█' * 12}{'·' * 36} 48.0 ms"
    assert legend == "       █ compute   · everything else"


def test_only_the_four_largest_parts_have_their_own_fill_in_the_order_of_the_account() -> None:
    now = step(48, compute=20, communication=2, h2d=8, idleInput=10, idleHost=6)
    line, _, *legend = step_bars(None, now, NAMES).splitlines()
    assert line == f"now    {'█' * 20}{'▓' * 8}{'▒' * 10}{'░' * 6}{'·' * 4} 48.0 ms"
    assert legend == ["       █ compute   ▓ copies   ▒ waiting   ░ host", "       · everything else"]


@pytest.mark.parametrize(("amount", "shown"), [(0.5, True), (0.49, False)])
def test_a_part_of_less_than_half_a_character_has_no_fill(amount: float, shown: bool) -> None:
    drawn = step_bars(step(24), step(48, compute=24, h2d=amount), NAMES)
    assert ("copies" in drawn) is shown
    assert ("copies" in step_bars(step(48, h2d=amount), step(24, compute=24), NAMES)) is shown


def test_a_part_that_is_not_recorded_took_no_time() -> None:
    tiny = StepAccount(10, 48.0, 0.0, {"compute": 24.0})
    for healthy in (None, tiny, StepAccount(10, 0.0, 0.0, {})):
        line, _, legend = step_bars(healthy, tiny, NAMES).splitlines()[-3:]
        assert line == f"now    {'█' * 24}{'·' * 24} 0.0 ms"
        assert legend == "       █ compute   · everything else"
    assert step_bars(None, StepAccount(10, 48.0, 0.0, {"compute": 48.5}), NAMES).startswith(f"now    {'█' * 48} ")


def test_a_part_that_is_gone_has_its_fill_all_the_same() -> None:
    assert "▓ waiting" in step_bars(step(48, compute=24, idleInput=24), step(24, compute=24), NAMES)


def test_a_step_of_no_time_and_parts_beyond_the_step_are_drawn_within_the_width() -> None:
    assert step_bars(None, step(0), PART_NAMES).splitlines()[0] == "now     0.0 ms"
    line = step_bars(None, step(48, compute=40, idleInput=40), NAMES).splitlines()[0]
    assert line == f"now    {'█' * 40}{'▓' * 8} 48.0 ms"
