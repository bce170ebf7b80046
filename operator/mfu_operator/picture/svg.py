"""A drawing as SVG."""

from html import escape

from mfu_operator.picture.chart import Chart, shapes_of
from mfu_operator.picture.shapes import Bars, Box, Shape, Stroke, Text

_FONT = 'font-family="sans-serif" font-size="13"'


def svg(chart: Chart) -> str:
    """The picture as an SVG document."""
    drawing = shapes_of(chart)
    size = f'viewBox="0 0 {drawing.width} {drawing.height}" width="{drawing.width}" height="{drawing.height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT} role="img">'
    return "\n".join([head, f"<title>{escape(drawing.title)}</title>", *map(_element, drawing.shapes), "</svg>"])


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
