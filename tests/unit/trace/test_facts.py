"""Another set of facts is another analysis: no account may be held against one in which they were not looked for."""

from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import ANALYSIS
from mfu_operator.trace import formats
from mfu_operator.trace.accounts import accounts

DATA = Path("tests/data")

FACTS = """
allocCallNs allocCalls analysis attentionCalls attentionNs batchSize communicationCalls communicationLongestNs
communicationNs communicationStdNs compileCalls compileNs computeStdNs convolutionCalls convolutionNs copyCalls copyNs
copyStdNs d2dBytes d2dCalls d2dTotalNs d2hBytes d2hCalls d2hTotalNs debugCalls debugNs deviceLost elementwiseCalls
elementwiseNs embeddingCalls embeddingNs gemmCalls gemmNs graphNs gridBlocks h2dBytes h2dCalls h2dTotalNs
halfMatrixCalls halfMatrixNs hostBlockedNs hostOpMedianNs hostOps hostStdNs incomplete inputBlockedNs inputFileCalls
inputFileNs inputNetworkCalls inputNetworkNs inputOwnNs inputPeakShare inputPollCalls inputPollNs inputRangeNs
inputSleepCalls inputSleepNs inputStdNs inputWaitCalls inputWaitNs kernelCalls launchCallNs launchCalls loadFileNs
loadNetworkNs loader loaderThreads normalizationCalls normalizationNs optimizerCalls optimizerNs pageableNs
profilerShapes profilerStacks reductionCalls reductionNs restStdNs singleMatrixCalls singleMatrixNs syncCallNs
syncCalls tf32MatrixCalls tf32MatrixNs transformNs wholeSteps worldSize
"""


def facts_of(path: Path) -> set[str]:
    try:
        return {name for one in accounts(formats.read(formats.TraceFile(path, path))) for name in one.mean.facts}
    except Unreadable:
        return set()


def test_a_fact_more_or_less_is_another_analysis() -> None:
    paths = [path for folder in ("traces", "nsys_cpu") for path in sorted((DATA / folder).rglob("*"))]
    found = {name for path in paths if path.suffix in (".gz", ".json", ".sqlite") for name in facts_of(path)}
    assert (ANALYSIS, found) == (2, set(FACTS.split())), "raise ANALYSIS, and say here which facts there are"
