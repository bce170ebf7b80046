"""What `kubectl mfu replay` draws."""

import math
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

from click.testing import CliRunner

from mfu_operator.cli.replay.command import replay_command
from mfu_operator.picture.letters import letter
from mfu_operator.picture.shapes import ADVANCE
from tests.unit.cli.replaying import LOSS_AND_BACK, ran, written

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_an_svg_with_its_events(tmp_path: Path, manifest: Path) -> None:
    picture = ran(written(tmp_path, LOSS_AND_BACK), "--baseline", manifest, "-o", "svg")
    ElementTree.fromstring(picture)
    assert "Regressed" in picture
    assert "polyline" in picture


def pixels(picture: bytes) -> "tuple[int, int, bytes]":
    """Width, height and the RGB rows of a PNG without filters."""
    width, height = struct.unpack(">II", picture[16:24])
    start = picture.index(b"IDAT")
    length = int.from_bytes(picture[start - 4 : start], "big")
    return width, height, zlib.decompress(picture[start + 4 : start + 4 + length])


def test_the_picture_is_a_png_too(tmp_path: Path, manifest: Path) -> None:
    arguments = [str(written(tmp_path, LOSS_AND_BACK)), "--baseline", str(manifest), "-o", "png"]
    picture = CliRunner().invoke(replay_command, arguments).stdout_bytes
    assert picture.startswith(b"\x89PNG")
    width, height, rows = pixels(picture)
    assert (width, height, len(rows)) == (2200, 800, 800 * (2200 * 3 + 1))
    purple = bytes((0x6A, 0x1B, 0x9A))
    assert rows.count(purple) > 500, "the line and the letters of Confirmed"


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


def test_the_png_has_the_letters_of_the_texts(tmp_path: Path, manifest: Path) -> None:
    """A title of other words is another picture, and each letter is made of dots."""
    assert len({letter(chr(code)).tobytes() for code in range(33, 127)}) == 94
    assert letter(" ").sum() == 0
    assert (letter("é") == letter("ß")).all(), "an empty box"
