"""The spans of time in which readings do not count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mfu_operator.model.series import TimeSpan
from mfu_operator.model.verdict import Gate


@dataclass(frozen=True, slots=True)
class Gates:
    """Spans by gate, Unix seconds. `known`: somebody has looked whether there are any."""

    spans: Mapping[Gate, Sequence[TimeSpan]] = field(default_factory=dict)
    known: bool = False

    def updated(self, spans: Mapping[Gate, Sequence[TimeSpan]] | None) -> "Gates":
        """With other spans of these gates; None: nobody looked."""
        return self if spans is None else Gates({**self.spans, **spans}, known=True)

    def closed(self, gate: Gate, from_s: float, to_s: float) -> "Gates":
        """With one span of one gate, in place of those before."""
        return Gates({**self.spans, gate: ((from_s, to_s),)}, self.known)

    def at(self, time_s: float, after_s: float) -> frozenset[Gate]:
        """The gates that hold at a moment, and for `after_s` after they open."""
        return frozenset(
            gate
            for gate, spans in self.spans.items()
            if any(from_s <= time_s <= to_s + after_s for from_s, to_s in spans)
        )
