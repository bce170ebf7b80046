"""A series with its baseline, gates, losses and events as a picture. Both forms are drawn from the same shapes."""

from mfu_operator.picture.chart import Chart, Loss, shapes_of
from mfu_operator.picture.png import png
from mfu_operator.picture.svg import svg

__all__ = ["Chart", "Loss", "png", "shapes_of", "svg"]
