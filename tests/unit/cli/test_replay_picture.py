"""What `kubectl mfu replay` draws."""

import math
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image, ImageColor

from mfu_operator.cli.replay.command import replay_command
from mfu_operator.picture import Chart, Loss, shapes_of, svg
from mfu_operator.picture.shapes import ADVANCE, Text
from mfu_operator.picture.svg import DARK
from tests.unit.cli.replaying import LOSS_AND_BACK, ran, written

SVG = "{http://www.w3.org/2000/svg}"
EVENTS = ("Regressed", "Confirmed", "Recovered", "NoData", "NotComparable")
CONFIRMED = "#6a1b9a"


def chart_with(events: Sequence[str]) -> Chart:
    """A chart in which each of the events, a loss and a gate are drawn."""
    points = [(30.0 * index, 0.46) for index in range(200)]
    marks = [(600.0 * (index + 1), event) for index, event in enumerate(events)]
    return Chart(
        "gpt: MFU", points, 0.46, "baseline 0.460", 0.44, "4 % slower", [(0.0, 300.0, "warm-up")], marks,
        [Loss(600.0, 1200.0)], dated=False,
    )  # fmt: skip


def contrast(first: str, second: str) -> float:
    """The ratio of two colours' luminances (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [part / 255 for part in ImageColor.getrgb(colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_the_picture_is_an_svg_with_its_events(tmp_path: Path, manifest: Path) -> None:
    picture = ran(written(tmp_path, LOSS_AND_BACK), "--baseline", manifest, "-o", "svg")
    ElementTree.fromstring(picture)
    assert "Regressed" in picture
    assert "polyline" in picture


def painted(series: Path, manifest: Path) -> Image.Image:
    arguments = [str(series), "--baseline", str(manifest), "-o", "png"]
    return Image.open(BytesIO(CliRunner().invoke(replay_command, arguments, catch_exceptions=False).stdout_bytes))


def count(picture: Image.Image, colour: str) -> int:
    wanted = ImageColor.getrgb(colour)
    return sum(number for number, found in picture.convert("RGB").getcolors(1 << 24) or () if found == wanted)


def test_the_picture_is_a_png_too(tmp_path: Path, manifest: Path) -> None:
    picture = painted(written(tmp_path, LOSS_AND_BACK), manifest)
    assert (picture.format, picture.size) == ("PNG", (2200, 800))
    assert picture.info["Title"] == "gpt: MFU"
    confirmed = shapes_of(chart_with(["Confirmed"])).shapes
    assert any(isinstance(shape, Text) and shape.colour == CONFIRMED for shape in confirmed)
    assert count(picture, CONFIRMED) > 500, "the line and the letters of Confirmed"


def test_the_png_needs_matplotlib_and_says_so(tmp_path: Path, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    arguments = [str(written(tmp_path, LOSS_AND_BACK)), "--baseline", str(manifest), "-o", "png"]
    result = CliRunner().invoke(replay_command, arguments)
    assert result.exit_code == 1
    assert "pip install 'mfu-operator[png]'" in result.output


def test_each_colour_of_the_picture_has_one_for_a_dark_scheme() -> None:
    for shape in shapes_of(chart_with(EVENTS)).shapes:
        assert shape.colour in DARK
    dark = svg(chart_with(EVENTS))
    assert "prefers-color-scheme:dark" in dark
    assert all(f'[fill="{light}"]{{fill:{shade}}}' in dark for light, shade in DARK.items())


@pytest.mark.parametrize("background", ["light", "dark"])
def test_texts_can_be_read_in_both_schemes(background: str) -> None:
    """4.5 to 1 (WCAG 2.2, 1.4.3)."""
    drawing = shapes_of(chart_with(EVENTS))
    page = drawing.shapes[0].colour
    shown = DARK if background == "dark" else {colour: colour for colour in DARK}
    for text in (shape for shape in drawing.shapes if isinstance(shape, Text)):
        assert contrast(shown[text.colour], shown[page]) >= 4.5, text


def test_the_picture_says_where_the_loss_is_and_what_is_tolerated(tmp_path: Path, manifest: Path) -> None:
    picture = ran(written(tmp_path, LOSS_AND_BACK), "--baseline", manifest, "-o", "svg")
    texts = [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    for expected in ("gpt: MFU", "baseline 0.460", "Regressed", "Confirmed", "Recovered", "1 h"):
        assert expected in texts
    assert "loss, from its onset" in texts, "in the legend"
    assert [each for each in texts if each and each.endswith(" % slower")], "beside the limit"


def test_events_are_named_beside_each_other_and_not_one_over_the_other(tmp_path: Path, manifest: Path) -> None:
    waves = [0.0] * 300 + [loss for _ in range(8) for loss in [0.3] * 60 + [0.0] * 60]
    picture = ran(written(tmp_path, waves), "--baseline", manifest, "-o", "svg")
    named = [
        (float(element.attrib["x"]), element.attrib["y"], element.text or "")
        for element in ElementTree.fromstring(picture).iter(f"{SVG}text")
        if element.text in ("Regressed", "Confirmed", "Recovered")
    ]
    assert len(named) > 5
    for x, lane, text in named:
        after = [other for other, where, _ in named if where == lane and other > x]
        assert min(after, default=math.inf) > x + len(text) * ADVANCE


def test_a_dated_series_has_dates_below_it(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "dated.csv"
    path.write_text("time,value\n" + "\n".join(f"2026-01-0{day}T00:00:00Z,0.46" for day in range(1, 7)))
    assert ">2026-01-03</text>" in ran(path, "--baseline", manifest, "-o", "svg")


def test_one_wild_reading_does_not_flatten_the_picture(tmp_path: Path, manifest: Path) -> None:
    losses = [0.001 * (index % 3) for index in range(400)]
    calm = ran(written(tmp_path, losses), "--baseline", manifest, "-o", "svg")
    wild = ran(written(tmp_path, [*losses[:200], 0.9, *losses[201:]]), "--baseline", manifest, "-o", "svg")
    assert 'text-anchor="end">0.455</text>' in calm
    assert 'text-anchor="end">0.455</text>' in wild
