"""A small table of causes, and keys with two values to ask it about."""

from dataclasses import dataclass
from typing import Any

import pytest

from mfu_operator.gitops import fingerprints
from mfu_operator.gitops.blame import scores

TEXT = """
causes:
  Loader:
    bottleneck: Input
    image: true
    keys:
      - {key: workers, slower: down, default: 4}
      - {key: prefetch, slower: down, aside: true}
      - {key: "*zig", slower: down}
      - {key: "zag_*", slower: up}
      - {key: "spec*.size", slower: up}
      - {key: eval_zog, slower: up}
      - {key: both, slower: up}
      - {key: mixed, slower: changed}
      - {key: other, slower: down}
  Store:
    bottleneck: Input
    keys:
      - {key: cache, slower: "off"}
      - {key: path, slower: changed}
      - {key: both, slower: down}
      - {key: mixed, slower: down, aside: true}
      - {key: other, slower: changed}
      - {key: "*zig", slower: up}
  Kernel:
    bottleneck: Compute
    image: true
    keys:
      - {key: dtype, slower: wider}
      - {key: mode, slower: later, order: [none, 1, full_shard]}
      - {key: log, slower: switched_on}
      - {key: debug, slower: "on"}
      - {key: shared, slower: up}
      - {key: none, slower: changed}
      - {key: "*zap", slower: switched_on}
  Link:
    bottleneck: Comms
    keys:
      - {key: shared, slower: down}
      - {key: "*far_zug", slower: up}
no_commit: [Throttled]
no_commit_bottlenecks: [Hardware]
images: [image, "image.tag"]
without_effect: [seed, "labels.*"]
with_effect: ["*queue*"]
without_pace: [lr]
words: [per, step]
"""
TABLE = fingerprints.read(TEXT)


@dataclass(frozen=True)
class Key:
    """A key with two values; None: it is not there."""

    name: str
    old: Any
    new: Any

    @property
    def was_there(self) -> bool:
        return self.old is not None

    @property
    def is_there(self) -> bool:
        return self.new is not None


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the small table in the place of the one that ships."""
    fingerprints._is_tied.cache_clear()
    monkeypatch.setattr(fingerprints, "table", lambda: TABLE)
    monkeypatch.setattr(scores, "table", lambda: TABLE)
