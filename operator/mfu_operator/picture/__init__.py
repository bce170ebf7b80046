"""A series with its baseline, gates, losses and events as a picture. Both forms are drawn from the same shapes.

No library draws them. matplotlib 3.11 and what it needs are 25 MB to download and 77 MB installed, in the image of each
profiling Job and on every laptop, and its SVG has no tips and is not as small (29 kB for 22 hours). What it would
replace is png.py and letters.py, 120 lines for `replay -o png` alone; Pillow would replace the same for 20 MB. Draw
with one of them where there is more than this one kind of picture.
"""

from mfu_operator.picture.chart import Chart, Loss, shapes_of
from mfu_operator.picture.png import png
from mfu_operator.picture.svg import svg

__all__ = ["Chart", "Loss", "png", "shapes_of", "svg"]
