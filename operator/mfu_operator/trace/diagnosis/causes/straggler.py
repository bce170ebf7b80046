"""In what a straggler is slow."""

from mfu_operator.model import facts
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.formatting import milliseconds

MOST = 0.5
"""Of the ranks' waiting: where less of it is for one rank, the ranks take turns in being late."""


def _slow_in(case: Case, word: str) -> Evidence:
    rank, skew = case.fact(facts.SLOWEST_RANK), case.fact(facts.RANK_SKEW_NS)
    if case.now.facts.word(facts.SLOWEST_IN) != word or rank is None or skew is None:
        return ()
    if case.more(facts.RANK_SKEW_NS) < MOST * case.more(facts.RANK_WAIT_NS):
        return ()
    node = case.now.facts.word(facts.SLOWEST_NODE)
    who = f"rank {rank:.0f}" + ("" if node is None else f" on node {node}")
    return (f"{who} arrives last: the others wait up to {milliseconds(skew)} per step; it is slow in {word}",)


CAUSES = (
    Cause(
        "SlowCompute",
        Bottleneck.STRAGGLER,
        needs="the rank that arrives last exceeds the others most in compute",
        contradicted_by="its kernels take as long as the others'",
        evidence=lambda case: _slow_in(case, "compute"),
        advice=("check clocks, power and temperature of that rank's GPU", "check that its share of the work is even"),
    ),
    Cause(
        "SlowInput",
        Bottleneck.STRAGGLER,
        needs="the rank that arrives last exceeds the others most in input wait",
        contradicted_by="its loader is as fast as the others'",
        evidence=lambda case: _slow_in(case, "input"),
        advice=("check that rank's loader, shards and node-local storage",),
    ),
    Cause(
        "SlowCopies",
        Bottleneck.STRAGGLER,
        needs="the rank that arrives last exceeds the others most in copies",
        contradicted_by="its copies take as long as the others'",
        evidence=lambda case: _slow_in(case, "copies"),
        advice=("check the PCIe link and NUMA placement of that rank",),
    ),
    Cause(
        "SlowHost",
        Bottleneck.STRAGGLER,
        needs="the rank that arrives last exceeds the others most in host time",
        contradicted_by="its host is as fast as the others'",
        evidence=lambda case: _slow_in(case, "host"),
        advice=("check what else runs on that rank's node, and its CPU limits",),
    ),
)
