"""Another set of facts is another analysis: no account may be compared with one in which they were not looked for."""

from pathlib import Path

import mypy.api
import pytest

from mfu_operator.api import codec
from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import ANALYSIS, StepAccount
from mfu_operator.trace.account.accounts import accounts
from mfu_operator.trace.names import kernels
from mfu_operator.trace.read import formats
from tests.support.facts import facts_of

DATA = Path("tests/data")
COLUMNS = ("category", "format")

FACTS = """
allocCallNs allocCalls analysis attentionCalls attentionNs batchSize communicationCalls communicationLongestNs
communicationNs communicationStdNs compileCalls compileNs computeStdNs convolutionCalls convolutionNs copyCalls copyNs
copyStdNs d2dBytes d2dCalls d2dTotalNs d2hBytes d2hCalls d2hTotalNs debugCalls debugNs deviceLost elementwiseCalls
elementwiseNs embeddingCalls embeddingNs gemmCalls gemmNs graphNs gridBlocks h2dBytes h2dCalls h2dTotalNs
halfMatrixCalls halfMatrixNs hostBlockedNs hostCollectiveCalls hostCollectiveExposedNs
hostCollectiveLongestNs hostCollectiveNs hostOpMedianNs hostOps hostStdNs incomplete inputBlockedNs
inputFileCalls inputFileNs inputNetworkCalls inputNetworkNs inputOwnNs inputPeakShare inputPollCalls inputPollNs
inputRangeNs inputSleepCalls inputSleepNs inputStdNs inputWaitCalls inputWaitNs kernelCalls launchCallNs launchCalls
leftOutNs
loadFileNs loadNetworkNs loader loaderThreads messageBytes messageMedianBytes normalizationCalls normalizationNs
optimizerCalls optimizerNs otherCalls otherNs ownStdNs pageableNs producer profilerMemory profilerShapes profilerStacks
reductionCalls reductionNs restStdNs singleMatrixCalls singleMatrixNs spreadSteps startupCopiesNs startupNs syncCallNs
syncCalls tf32MatrixCalls tf32MatrixNs tinyCalls tinyNs transformNs wholeSteps worldSize
"""


def shown_by(path: Path) -> set[str]:
    try:
        return {name for one in accounts(formats.read(formats.TraceFile(path, path))) for name in one.mean.facts.named}
    except Unreadable:
        return set()


def found() -> set[str]:
    paths = [path for folder in ("traces", "nsys_cpu") for path in sorted((DATA / folder).rglob("*"))]
    return {name for path in paths if path.suffix in (".gz", ".json", ".sqlite") for name in shown_by(path)}


def test_a_fact_more_or_less_is_another_analysis() -> None:
    assert (ANALYSIS, found()) == (6, set(FACTS.split())), "raise ANALYSIS, and say here which facts there are"


def test_every_fact_that_real_traces_show_is_in_the_table() -> None:
    assert set(FACTS.split()) <= facts.BY_NAME.keys()


def test_the_table_holds_no_name_twice() -> None:
    assert len(facts.BY_NAME) == sum(len(section.facts) for section in facts.SECTIONS)


def test_the_categories_and_number_formats_of_the_table_are_those_of_the_kernel_names() -> None:
    by_column = {column: {rule.verdict for rule in kernels.rules() if rule.column == column} for column in COLUMNS}
    assert by_column["category"] | {kernels.OTHER} == set(facts.CATEGORIES)
    assert by_column["format"] - {kernels.UNKNOWN} == set(facts.FORMATS)


def test_a_name_that_this_version_does_not_know_is_kept_and_not_read() -> None:
    stored = {"milliseconds": {}, "count": 1, "meanMilliseconds": 1.0, "stdMilliseconds": 0.0}
    read = codec.decode(StepAccount, {**stored, "facts": {"syncCalls": 3, "ofTomorrow": 2.0}}, "account")
    assert read.facts.number(facts.SYNC_CALLS) == 3.0
    assert codec.encode(read)["facts"] == {"syncCalls": 3.0, "ofTomorrow": 2.0}


def test_a_text_is_no_number_and_a_number_is_no_text() -> None:
    lost, unread = (facts_of(deviceLost=value) for value in (1.0, "events of a TPU"))
    assert (lost.number(facts.DEVICE_LOST), lost.word(facts.DEVICE_LOST)) == (1.0, None)
    assert (unread.number(facts.DEVICE_LOST), unread.word(facts.DEVICE_LOST)) == (None, "events of a TPU")


MISREAD = """
from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount

def read(account: StepAccount) -> object:
    return {line}
"""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("account.facts.number(facts.SYNC_CALLS)", ""),
        ("account.facts.number(facts.SYNC_CALS)", 'has no attribute "SYNC_CALS"'),
        ('account.facts.get("syncCalls")', 'has incompatible type "str"; expected "Fact"'),
        ("account.facts.word(facts.SYNC_CALLS)", 'has incompatible type "Number"; expected "Word"'),
    ],
)
def test_reading_a_fact_that_does_not_exist_is_a_type_error(tmp_path: Path, line: str, wrong: str) -> None:
    code = tmp_path / "reads.py"
    code.write_text(MISREAD.format(line=line))
    said = mypy.api.run([str(code), "--config-file", "pyproject.toml", "--follow-imports", "silent"])[0]
    assert (wrong in said) and (("error" in said) == bool(wrong)), said
