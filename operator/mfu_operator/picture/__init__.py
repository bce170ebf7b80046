"""A series with its baseline, gates, losses and events as a picture. Both forms are drawn from the same shapes.

matplotlib paints the PNG. It is an extra (`png`): with what it needs it takes 77 MB, in the image of each profiling Job
and on every laptop. The SVG is written here: it follows the reader's light or dark scheme, has tips, and is small.
"""

from mfu_operator.picture.chart import Chart, Loss, shapes_of
from mfu_operator.picture.png import png
from mfu_operator.picture.svg import svg

__all__ = ["Chart", "Loss", "png", "shapes_of", "svg"]
