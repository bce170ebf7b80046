"""Another set of facts is another analysis: no account may be held against one in which they were not looked for."""

import re
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import ANALYSIS
from mfu_operator.trace import formats, kernels
from mfu_operator.trace.accounts import accounts

DATA = Path("tests/data")

FACTS = """
allocCallNs allocCalls analysis attentionCalls attentionNs batchSize communicationCalls communicationLongestNs
communicationNs communicationStdNs compileCalls compileNs computeStdNs convolutionCalls convolutionNs copyCalls copyNs
copyStdNs d2dBytes d2dCalls d2dTotalNs d2hBytes d2hCalls d2hTotalNs debugCalls debugNs deviceLost elementwiseCalls
elementwiseNs embeddingCalls embeddingNs gemmCalls gemmNs graphNs gridBlocks h2dBytes h2dCalls h2dTotalNs
halfMatrixCalls halfMatrixNs hostBlockedNs hostCollectiveNs hostOpMedianNs hostOps hostStdNs incomplete inputBlockedNs
inputFileCalls inputFileNs inputNetworkCalls inputNetworkNs inputOwnNs inputPeakShare inputPollCalls inputPollNs
inputRangeNs inputSleepCalls inputSleepNs inputStdNs inputWaitCalls inputWaitNs kernelCalls launchCallNs launchCalls
loadFileNs loadNetworkNs loader loaderThreads normalizationCalls normalizationNs optimizerCalls optimizerNs pageableNs
producer profilerMemory profilerShapes profilerStacks reductionCalls reductionNs restStdNs singleMatrixCalls
singleMatrixNs syncCallNs syncCalls tf32MatrixCalls tf32MatrixNs transformNs wholeSteps worldSize
"""


def facts_of(path: Path) -> set[str]:
    try:
        return {name for one in accounts(formats.read(formats.TraceFile(path, path))) for name in one.mean.facts}
    except Unreadable:
        return set()


def found() -> set[str]:
    paths = [path for folder in ("traces", "nsys_cpu") for path in sorted((DATA / folder).rglob("*"))]
    return {name for path in paths if path.suffix in (".gz", ".json", ".sqlite") for name in facts_of(path)}


def test_a_fact_more_or_less_is_another_analysis() -> None:
    assert (ANALYSIS, found()) == (4, set(FACTS.split())), "raise ANALYSIS, and say here which facts there are"


CATEGORIES = {rule.verdict for rule in kernels.rules() if rule.column == "category"} | {kernels.OTHER}


def test_every_fact_is_documented() -> None:
    page = Path("operator/FACTS.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", page))
    for template, words in (("CATEGORY", CATEGORIES), ("FORMAT", kernels.FORMATS)):
        told |= {name.replace(template, word) for name in told if name.startswith(template) for word in words}
        assert all(word in page for word in words)
    assert set(FACTS.split()) <= told
