"""A drawing as PNG, two dots to a pixel, painted by matplotlib."""

from io import BytesIO
from typing import TYPE_CHECKING

from mfu_operator.picture.chart import Chart, shapes_of
from mfu_operator.picture.shapes import FONT_PX, Bars, Box, Drawing, Shape, Stroke, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOTS_PER_INCH = 200
_PIXELS_PER_INCH = 100
_POINTS_PER_PIXEL = 72 / _PIXELS_PER_INCH
"""matplotlib measures letters and lines in points, 72 to the inch."""

_DASHES = (0, (4, 3))


def png(chart: Chart) -> bytes:
    """The picture as a PNG file. Raises ImportError where matplotlib is not installed (extra `png`)."""
    from matplotlib.figure import Figure

    drawing = shapes_of(chart)
    figure = Figure(figsize=_inches(drawing), dpi=_DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.set_axis_off()
    for order, shape in enumerate(drawing.shapes):
        _paint(axes, shape, order)
    painted = BytesIO()
    figure.savefig(painted, format="png", metadata={"Title": drawing.title})
    return painted.getvalue()


def _inches(drawing: Drawing) -> tuple[float, float]:
    return drawing.width / _PIXELS_PER_INCH, drawing.height / _PIXELS_PER_INCH


def _paint(axes: "Axes", shape: Shape, order: int) -> None:
    from matplotlib.patches import Rectangle

    match shape:
        case Box(left, top, right, bottom, colour, opacity):
            box = Rectangle(
                (left, top), right - left, bottom - top, facecolor=colour, alpha=opacity, linewidth=0, zorder=order
            )
            axes.add_patch(box)
        case Stroke(points, colour, width, dashed):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colour,
                linewidth=width * _POINTS_PER_PIXEL,
                linestyle=_DASHES if dashed else "solid",
                zorder=order,
            )
        case Bars(bars, colour):
            places, tops, bottoms = zip(*bars, strict=True) if bars else ((), (), ())
            axes.vlines(places, tops, bottoms, colors=colour, linewidth=_POINTS_PER_PIXEL, zorder=order)
        case Text(x, y, text, colour, anchor):
            axes.text(
                x,
                y,
                text,
                color=colour,
                fontsize=FONT_PX * _POINTS_PER_PIXEL,
                horizontalalignment={"start": "left", "middle": "center", "end": "right"}[anchor],
                verticalalignment="baseline",
                parse_math=False,
                zorder=order,
            )
