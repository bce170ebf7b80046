"""A drawing as SVG."""

from html import escape

from mfu_operator.picture.chart import Chart, shapes_of
from mfu_operator.picture.shapes import FONT_PX, Bars, Box, Shape, Stroke, Text

_FONT = f'font-family="sans-serif" font-size="{FONT_PX}"'

DARK = {
    "#ffffff": "#16181b",
    "#212121": "#e7e9ec",
    "#424242": "#c3c8cf",
    "#eeeeee": "#2a2e33",
    "#9e9e9e": "#8a919a",
    "#90caf9": "#2f6ea5",
    "#0d47a1": "#90caf9",
    "#c8e6c9": "#1f3d22",
    "#2e7d32": "#81c784",
    "#81c784": "#4c8c50",
    "#d7ccc8": "#4a403c",
    "#ffcdd2": "#5a2428",
    "#c62828": "#ef7b7b",
    "#6a1b9a": "#ce93d8",
    "#6b6b6b": "#a7adb5",
    "#b54708": "#ffab66",
}
"""Each colour of the drawing, and what stands for it where the reader prefers a dark scheme. As an attribute each is a
presentation hint, which any rule of a style sheet overrides."""


def svg(chart: Chart) -> str:
    """The picture as an SVG document."""
    drawing = shapes_of(chart)
    size = f'viewBox="0 0 {drawing.width} {drawing.height}" width="{drawing.width}" height="{drawing.height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT} role="img">'
    title = f"<title>{escape(drawing.title)}</title>"
    return "\n".join([head, title, _style(), *map(_element, drawing.shapes), "</svg>"])


def _style() -> str:
    rules = "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}' for light, dark in DARK.items()
    )
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"


def _element(shape: Shape) -> str:
    match shape:
        case Box(left, top, right, bottom, colour, opacity, tip):
            place = f'x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" height="{_n(bottom - top)}"'
            return _with_tip("rect", f'{place} fill="{colour}" fill-opacity="{opacity:g}"', tip)
        case Stroke(points, colour, width, dashed, tip):
            path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
            dashes = ' stroke-dasharray="4 3"' if dashed else ""
            style = f'fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}'
            return _with_tip("polyline", f'{style} points="{path}"', tip)
        case Bars(bars, colour):
            path = "".join(f"M{_n(x)} {_n(top)}V{_n(bottom)}" for x, top, bottom in bars)
            return f'<path stroke="{colour}" d="{path}"/>'
        case Text(x, y, text, colour, anchor):
            where = "" if anchor == "start" else f' text-anchor="{anchor}"'
            return f'<text x="{_n(x)}" y="{_n(y)}" fill="{colour}"{where}>{escape(text)}</text>'


def _with_tip(name: str, attributes: str, tip: str) -> str:
    return f"<{name} {attributes}><title>{escape(tip)}</title></{name}>" if tip else f"<{name} {attributes}/>"


def _n(value: float) -> str:
    """A tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0")
