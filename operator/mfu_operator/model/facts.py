"""The one table of facts: what an account may say beside its parts.

operator/FACTS.md is made from it (`make generate`). Times, calls and bytes are those of the mean counted step unless
the meaning says otherwise.
"""

from collections.abc import Mapping

from mfu_operator.model.fact import Fact, Number, Section, Unit

COMPARABLE = Section("Whether two accounts may be compared")
ANALYSIS = COMPARABLE.number(
    "analysis", Unit.COUNT, "number of the analysis that made the account; accounts of two analyses are not comparable"
)
WORLD_SIZE = COMPARABLE.number("worldSize", Unit.COUNT, "ranks of the job")
BATCH_SIZE = COMPARABLE.number(
    "batchSize", Unit.COUNT, "samples that a step takes, where operators' input shapes were recorded"
)
PRODUCER = COMPARABLE.word(
    "producer",
    "what recorded it: nsys, torch.profiler or kineto (by its daemon), each of which slows a step in its own way",
)
PROFILER_STACKS = COMPARABLE.mark("profilerStacks", "the profiler also recorded stacks; 0 where it did not")
PROFILER_SHAPES = COMPARABLE.mark("profilerShapes", "the profiler also recorded input shapes; 0 where it did not")
PROFILER_MEMORY = COMPARABLE.mark("profilerMemory", "the profiler also recorded memory; 0 where it did not")
WHOLE_STEPS = COMPARABLE.mark("wholeSteps", "0 where no steps are known and the account is of the recorded span")

BLIND = Section("What the recording cannot show")
INCOMPLETE = BLIND.number_or_word("incomplete", "why events are missing")
DEVICE_LOST = BLIND.number_or_word(
    "deviceLost",
    "the device's activity was not recorded, though it was used; a text says what was recorded that cannot be read",
)
STRAY_DEVICE = BLIND.mark(
    "strayDevice",
    "the device met nothing but stray operations, under 1 % of the busiest one's time; it counts in no mean",
)
KERNELS_LOST = BLIND.mark("kernelsLost", "copies were recorded and no kernel")
FIRST_ITERATION = BLIND.mark("firstIteration", "step 0 is among the counted steps")
WHOLE_GRAPH_NS = BLIND.ns("wholeGraphNs", "CUDA graphs that were recorded as one operation")
KERNELS_CUT = BLIND.mark("kernelsCut", "the account held more kernels than a termination message or a status does")

STARTUP_NS = BLIND.ns(
    "startupNs", "what lies before the first matrix kernel, where no steps are known and the span begins with start-up"
)
STARTUP_COPIES_NS = BLIND.ns("startupCopiesNs", "of it, copies to the device")

FILES_UNREAD = BLIND.number(
    "filesUnread", Unit.COUNT, "files of the folder that could not be read, each of them a rank's for all that is known"
)
LEFT_OUT_NS = BLIND.ns(
    "leftOutNs", "how much longer the mean step is with the steps that are left out of it because they are unlike it"
)

SPREAD = Section("Spread: standard deviations over the counted steps")
SPREAD_STEPS = SPREAD.number(
    "spreadSteps", Unit.COUNT, "steps that the spreads are of, where the counted ones are too few to have one"
)
REST_STD_NS = SPREAD.ns(
    "restStdNs", "of what is neither input nor compiling, without the steps in which these stand out"
)
OWN_STD_NS = SPREAD.ns(
    "ownStdNs",
    "of what is neither input, compiling nor exposed communication, without the steps in which the first two stand out",
)
INPUT_STD_NS = SPREAD.ns("inputStdNs", "of input wait")
COMMUNICATION_STD_NS = SPREAD.ns("communicationStdNs", "of exposed communication")
COMPUTE_STD_NS = SPREAD.ns("computeStdNs", "of compute")
COPY_STD_NS = SPREAD.ns("copyStdNs", "of exposed copies and memset")
HOST_STD_NS = SPREAD.ns("hostStdNs", "of idle time for synchronisation, allocation, other host work and launches")

INPUT = Section("Input")
INPUT_RANGE_NS = INPUT.ns("inputRangeNs", "the training thread in ranges that load")
INPUT_NETWORK_NS = INPUT.ns("inputNetworkNs", "of these, in calls to the network")
INPUT_POLL_NS = INPUT.ns("inputPollNs", "of these, in calls to poll")
INPUT_FILE_NS = INPUT.ns("inputFileNs", "of these, in calls to files")
INPUT_WAIT_NS = INPUT.ns("inputWaitNs", "of these, in calls that wait for a thread")
INPUT_SLEEP_NS = INPUT.ns("inputSleepNs", "of these, in calls that sleep")
INPUT_NETWORK_CALLS = INPUT.calls("inputNetworkCalls", "calls to the network in these ranges")
INPUT_POLL_CALLS = INPUT.calls("inputPollCalls", "calls to poll in these ranges")
INPUT_FILE_CALLS = INPUT.calls("inputFileCalls", "calls to files in these ranges")
INPUT_WAIT_CALLS = INPUT.calls("inputWaitCalls", "calls that wait for a thread in these ranges")
INPUT_SLEEP_CALLS = INPUT.calls("inputSleepCalls", "calls that sleep in these ranges")
INPUT_OWN_NS = INPUT.ns("inputOwnNs", "of these ranges, the training thread computing itself")
INPUT_BLOCKED_NS = INPUT.ns(
    "inputBlockedNs", "of these ranges, outside framework operators; where calls to the system were not recorded"
)
INPUT_PEAK_SHARE = INPUT.number("inputPeakShare", Unit.SHARE, "of all input time, what the step with most of it has")
INPUT_PERIOD = INPUT.number("inputPeriod", Unit.COUNT, "every how many steps a long wait comes, where it comes evenly")
LOADER = INPUT.word("loader", '"inline": the training thread loads; "workers": others do')
WORKER_STARTS = INPUT.calls(
    "workerStarts",
    "starts of the loader's workers: forks of the training thread, the loader's own frames of it, or the seed that it "
    "draws before",
)
LOADER_THREADS = INPUT.number("loaderThreads", Unit.COUNT, "other threads that load")
LOAD_NETWORK_NS = INPUT.ns("loadNetworkNs", "the loader's threads waiting for the store")
LOAD_FILE_NS = INPUT.ns("loadFileNs", "the loader's threads in calls to files")
LOAD_OWN_NS = INPUT.ns("loadOwnNs", "the loader's threads computing")
STORE_NS = INPUT.ns("storeNs", "ranges on any thread that say that they read from a store")
TRANSFORM_NS = INPUT.ns("transformNs", "ranges on any thread that say that they transform")
HOST_BLOCKED_NS = INPUT.ns(
    "hostBlockedNs", "the training thread in blocking calls to the operating system, input or not"
)

HOST = Section("Host")
SYNC_CALLS = HOST.calls("syncCalls", "blocking CUDA calls")
SYNC_CALL_NS = HOST.ns("syncCallNs", "the time in them")
ALLOC_CALLS = HOST.calls("allocCalls", "calls that allocate or free device memory")
ALLOC_CALL_NS = HOST.ns("allocCallNs", "the time in them")
LAUNCH_CALLS = HOST.calls("launchCalls", "calls that launch kernels")
LAUNCH_CALL_NS = HOST.ns("launchCallNs", "the time in them")
HOST_OPS = HOST.calls("hostOps", "framework operators")
HOST_OP_MEDIAN_NS = HOST.ns("hostOpMedianNs", "how long the median one takes")
COMPILE_CALLS = HOST.calls("compileCalls", "ranges, operators, calls and kernels of a compiler")
COMPILE_NS = HOST.ns("compileNs", "the time in them")
DEBUG_CALLS = HOST.calls("debugCalls", "ranges, operators, calls and kernels of a debugging aid")
DEBUG_NS = HOST.ns("debugNs", "the time in them")
HOST_COLLECTIVE_NS = HOST.ns("hostCollectiveNs", "collectives that run on the host (gloo, UCC, MPI)")
HOST_COLLECTIVE_CALLS = HOST.calls("hostCollectiveCalls", "how many of these there are")
HOST_COLLECTIVE_LONGEST_NS = HOST.ns("hostCollectiveLongestNs", "the longest of these of a step")
HOST_COLLECTIVE_EXPOSED_NS = HOST.ns(
    "hostCollectiveExposedNs", "of these, while no other thread computes; where operators were recorded and no device"
)

CATEGORIES = (
    "gemm",
    "attention",
    "convolution",
    "normalization",
    "elementwise",
    "reduction",
    "optimizer",
    "communication",
    "embedding",
    "copy",
    "other",
)
"""What a kernel does (names/kernels.tsv)."""

FORMATS = ("fp8", "half", "tf32", "single")
"""The number formats of matrix kernels, the fastest first; half are all of 16 bits."""

DEVICE = Section("Device")
KERNEL_CALLS = DEVICE.calls("kernelCalls", "all kernels")
GRID_BLOCKS = DEVICE.number("gridBlocks", Unit.BLOCKS, "blocks of all their grids")
GRAPH_NS = DEVICE.ns("graphNs", "kernels that a CUDA graph launched")
CATEGORY_CALLS: Mapping[str, Number] = {
    one: DEVICE.calls(f"{one}Calls", f"kernels of the category {one}") for one in CATEGORIES
}
CATEGORY_NS: Mapping[str, Number] = {one: DEVICE.ns(f"{one}Ns", f"kernels of the category {one}") for one in CATEGORIES}
MATRIX_CALLS: Mapping[str, Number] = {
    one: DEVICE.calls(f"{one}MatrixCalls", f"matrix products and convolutions that read {one} precision")
    for one in FORMATS
}
MATRIX_NS: Mapping[str, Number] = {
    one: DEVICE.ns(f"{one}MatrixNs", f"matrix products and convolutions that read {one} precision") for one in FORMATS
}
TINY_CALLS = DEVICE.calls("tinyCalls", "kernels that compute for less than 10 µs each")
TINY_NS = DEVICE.ns("tinyNs", "kernels that compute for less than 10 µs each")
COMMUNICATION_LONGEST_NS = DEVICE.ns("communicationLongestNs", "the longest collective of a step")
MESSAGE_BYTES = DEVICE.number("messageBytes", Unit.BYTES, "what collectives carry, where most say how much")
MESSAGE_MEDIAN_BYTES = DEVICE.number("messageMedianBytes", Unit.BYTES, "what the median one of them carries")
H2D_CALLS = DEVICE.calls("h2dCalls", "copies to the device")
D2H_CALLS = DEVICE.calls("d2hCalls", "copies to the host")
D2D_CALLS = DEVICE.calls("d2dCalls", "copies within or between devices")
H2D_BYTES = DEVICE.number("h2dBytes", Unit.BYTES, "bytes copied to the device")
D2H_BYTES = DEVICE.number("d2hBytes", Unit.BYTES, "bytes copied to the host")
D2D_BYTES = DEVICE.number("d2dBytes", Unit.BYTES, "bytes copied within or between devices")
H2D_TOTAL_NS = DEVICE.ns("h2dTotalNs", "copies to the device, hidden or not")
D2H_TOTAL_NS = DEVICE.ns("d2hTotalNs", "copies to the host, hidden or not")
D2D_TOTAL_NS = DEVICE.ns("d2dTotalNs", "copies within or between devices, hidden or not")
PAGEABLE_NS = DEVICE.ns("pageableNs", "copies from or to memory that is not pinned")

COMMUNICATION_CALLS = CATEGORY_CALLS["communication"]
ATTENTION_CALLS = CATEGORY_CALLS["attention"]
ELEMENTWISE_CALLS = CATEGORY_CALLS["elementwise"]
ELEMENTWISE_NS = CATEGORY_NS["elementwise"]

RANKS = Section("Ranks")
SLOWEST_RANK = RANKS.number("slowestRank", Unit.RANK, "the rank for which the others wait")
SLOWEST_IN = RANKS.word("slowestIn", "what it is slower in: compute, input, copies, host")
SLOWEST_NODE = RANKS.word("slowestNode", "the node of that rank, where a capture of the running job knows it")
RANKS_RECORDED = RANKS.number("ranksRecorded", Unit.COUNT, "ranks of the job whose traces were given")
RANKS_MISSING = RANKS.word("ranksMissing", "the numbers of the others, where the traces tell their own")
RANK_SKEW_NS = RANKS.ns(
    "rankSkewNs",
    "the longest wait of a rank in collectives less the shortest; at most this where no slowest rank is named",
)
RANK_WAIT_NS = RANKS.ns("rankWaitNs", "the mean wait of a rank; at most this where no slowest rank is named")
RANKS_IN_TURNS = RANKS.mark("ranksInTurns", "no rank is late throughout: one after the other is")
CAPTURE_PAUSE_NS = RANKS.ns(
    "capturePauseNs",
    "what the loop waited for the recorder itself during a capture of the running job, on the rank where it was most; "
    "of the whole capture, not of a step",
)

SECTIONS = (COMPARABLE, BLIND, SPREAD, INPUT, HOST, DEVICE, RANKS)

BY_NAME: Mapping[str, Fact] = {fact.name: fact for section in SECTIONS for fact in section.facts}
"""Every fact, under its key in JSON."""
