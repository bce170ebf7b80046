"""Readings from the pods' own metrics pages, where there is no Prometheus."""

from mfu_operator.adapters.scrape.sources import PodSources

__all__ = ["PodSources"]
