"""What proves each cause of a device that waits for its host, and what falls just short of it. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.trace.diagnosis.causes import host
from tests.support.cases import case_of

Named = Mapping[str, Any]

GROWN = {"idleHost": 10e6}


@pytest.mark.parametrize(
    ("now", "baseline", "told"),
    [
        ({**GROWN, "compileNs": 3e6, "compileCalls": 1.0}, {"compileCalls": 0.0}, True),
        ({**GROWN, "compileNs": 2.9e6, "compileCalls": 1.0}, {"compileCalls": 0.0}, False),
        ({**GROWN, "compileNs": 3e6, "compileCalls": 1.0}, {"compileCalls": 1.0}, False),
        ({**GROWN, "compileNs": 3e6, "compileCalls": 1.5}, {"compileCalls": 1.0}, True),
        ({**GROWN, "compileNs": 3e6, "compileCalls": 1.0}, None, True),
        ({"idleSync": 5e6, "idleAlloc": 5e6, "idleLaunch": 5e6, "compileNs": 4e6, "compileCalls": 1.0}, {}, False),
    ],
)
def test_compiling_is_told_where_there_is_more_of_it_for_three_tenths_of_what_was_lost(
    now: Named, baseline: Named | None, told: bool
) -> None:
    case = case_of(now, baseline)
    said = case.change("compiling per step", facts.COMPILE_NS)
    assert host._recompilation(case) == ((said,) if told else ())


@pytest.mark.parametrize(
    ("now", "baseline", "told"),
    [
        ({"idleAlloc": 3e6, "idleHost": 7e6, "allocCalls": 2.0}, {"allocCalls": 1.0}, True),
        ({"idleAlloc": 2.9e6, "idleHost": 7.1e6, "allocCalls": 2.0}, {"allocCalls": 1.0}, False),
        ({"idleAlloc": 3e6, "idleHost": 7e6, "allocCalls": 1.9}, {"allocCalls": 1.0}, False),
        ({"idleAlloc": 3e6, "idleHost": 7e6, "allocCalls": 0.5}, None, True),
        ({"idleAlloc": 3e6, "idleHost": 7e6, "allocCalls": 0.0}, None, False),
        ({"idleHost": 10e6, "allocCalls": 2.0, "allocCallNs": 5e6}, {"allocCalls": 1.0}, True),
        ({"idleHost": 10e6, "allocCalls": 2.0, "allocCallNs": 4.9e6}, {"allocCalls": 1.0}, False),
    ],
)
def test_allocation_is_told_where_the_device_waits_for_it_or_its_calls_take_most_of_what_was_lost(
    now: Named, baseline: Named | None, told: bool
) -> None:
    case = case_of(now, baseline)
    said = (
        case.change("allocation calls per step", facts.ALLOC_CALLS),
        case.change("time in them", facts.ALLOC_CALL_NS),
        "the device waits 3 ms for them" if "idleAlloc" in now else "the device waits 0.0 ms for them",
    )
    assert host._allocator(case) == (said if told else ())


WAITS = "blocking synchronisations per step"


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({"idleSync": 5e6, "idleHost": 5e6, "syncCalls": 2.0}, None, (f"{WAITS} 2",)),
        ({"idleSync": 4.9e6, "idleHost": 5.1e6, "syncCalls": 2.0}, None, ()),
        ({"syncCalls": 2.0}, None, ()),
        (
            {"syncCalls": 1.5, "syncCallNs": 4e6},
            {"syncCalls": 1.0},
            (f"{WAITS} 1.5, baseline 1", "time in them 4 ms, baseline not recorded"),
        ),
        ({"syncCalls": 1.4}, {"syncCalls": 1.0}, ()),
        # The input itself takes longer.
        ({"syncCalls": 3.0, "idleInput": 10e6, "inputRangeNs": 6e6}, {"syncCalls": 1.0}, ()),
        (
            {"syncCalls": 3.0, "idleInput": 10e6, "inputRangeNs": 5e6},
            {"syncCalls": 1.0},
            (f"{WAITS} 3, baseline 1", "time in them not recorded, baseline not recorded"),
        ),
        (
            {"syncCalls": 3.0, "idleInput": 10e6, "inputRangeNs": 6e6, "idleSync": 10e6},
            {"syncCalls": 1.0},
            (f"{WAITS} 3, baseline 1", "time in them not recorded, baseline not recorded"),
        ),
    ],
)
def test_a_synchronisation_is_told_where_there_are_more_and_the_input_is_not_what_takes_longer(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert host._synchronisation(case_of(now, baseline)) == said


STEP = {"compute": 100.0, "kernelCalls": 100.0}


@pytest.mark.parametrize(
    ("now", "baseline", "told"),
    [
        ({"compute": 120.0, "kernelCalls": 110.0}, STEP, True),
        ({"compute": 120.0, "kernelCalls": 109.0}, STEP, False),
        ({"compute": 112.5, "kernelCalls": 106.25}, STEP, True),
        ({"compute": 100.0, "kernelCalls": 103.1}, STEP, True),
        ({"compute": 100.0, "kernelCalls": 102.9}, STEP, False),
        ({"compute": 120.0}, STEP, False),
        ({"compute": 120.0, "kernelCalls": 0.0}, STEP, False),
        ({"compute": 120.0, "kernelCalls": 200.0}, {"compute": 100.0}, False),
        ({"compute": 120.0, "kernelCalls": 200.0}, {"compute": 100.0, "kernelCalls": 0.0}, False),
        ({"compute": 120.0, "kernelCalls": 200.0}, None, False),
    ],
)
def test_more_kernels_are_told_where_they_grew_by_half_as_much_as_the_step(
    now: Named, baseline: Named | None, told: bool
) -> None:
    case = case_of(now, baseline)
    said = case.change("kernels launched per step", facts.KERNEL_CALLS)
    assert host._launches(case) == ((said,) if told else ())


@pytest.mark.parametrize(
    ("kernels", "launches", "told"),
    [(100.0, 16.0, True), (100.0, 15.0, False), (110.0, 16.0, True), (112.0, 16.0, False)],
)
def test_a_graph_is_lost_where_as_many_kernels_need_half_as_many_calls_more(
    kernels: float, launches: float, told: bool
) -> None:
    case = case_of({"kernelCalls": kernels, "launchCalls": launches}, {"kernelCalls": 100.0, "launchCalls": 10.0})
    said = (f"launch calls per step {launches:.0f}, baseline 10", f"for as many kernels {kernels:.0f}, baseline 100")
    assert host._launches_one_by_one(case) == (said if told else ())


LAUNCHING = {"launchCalls": 100.0, "launchCallNs": 1e6, "hostOps": 100.0, "hostOpMedianNs": 12e3}
SLOWER = {**LAUNCHING, "launchCallNs": 1.5e6, "hostOpMedianNs": 17e3, "idleHost": 1e6}
CALLS = ("a launch call takes 15 us, baseline 10 us", "launch calls per step 100, baseline 100")


@pytest.mark.parametrize(
    ("changed", "before", "said"),
    [
        ({}, {}, CALLS),
        (
            {"launchCallNs": 1.2e6, "hostOpMedianNs": 12e3, "idleHost": 0.0},
            {},
            (CALLS[0].replace("15", "12"), CALLS[1]),
        ),
        (
            {"launchCallNs": 1.1e6, "hostOpMedianNs": 12e3, "idleHost": 0.0},
            {},
            (CALLS[0].replace("15", "11"), CALLS[1]),
        ),
        ({"launchCallNs": 1.09e6, "hostOpMedianNs": 12e3, "idleHost": 0.0}, {}, ()),
        ({"launchCallNs": 0.0}, {}, ()),
        ({}, {"launchCallNs": 0.0}, ()),
        ({"launchCalls": 0.0}, {"launchCalls": 0.0}, ()),
        ({"hostOps": 104.0}, {}, ()),
        ({"hostOps": 103.0}, {}, CALLS),
        ({"launchCalls": 104.0}, {}, ()),
        ({"launchCalls": 104.0, "launchCallNs": 1.56e6}, {}, ()),
        (
            {"launchCallNs": 1.475e6, "hostOpMedianNs": 17e3, "idleHost": 0.0},
            {},
            (CALLS[0].replace("15", "14.8"), CALLS[1]),
        ),
        ({}, {"hostOpMedianNs": 11.9e3}, ()),
        # The call explains nearly all of its operator's slowdown.
        ({"hostOpMedianNs": 17.2e3}, {}, CALLS),
        ({"hostOpMedianNs": 17.3e3}, {}, ()),
        # Its calls take half of what the device idles more.
        ({"idleHost": 1.01e6}, {}, ()),
    ],
)
def test_launch_calls_are_slower_where_the_rest_of_an_operator_is_not(
    changed: Named, before: Named, said: tuple[str, ...]
) -> None:
    assert host._slower_calls(case_of({**SLOWER, **changed}, {**LAUNCHING, **before})) == said


@pytest.mark.parametrize("without", ["launchCalls", "launchCallNs", "hostOps", "hostOpMedianNs"])
def test_launch_calls_are_not_compared_where_one_side_does_not_tell(without: str) -> None:
    assert host._slower_calls(case_of(SLOWER)) == ()
    for now, before in ((SLOWER, LAUNCHING), (LAUNCHING, SLOWER)):
        less = [{name: value for name, value in one.items() if name != without} for one in (now, before)]
        assert host._slower_calls(case_of(less[0], before)) == ()
        assert host._slower_calls(case_of(now, less[1])) == ()


KERNELS = {"compute": 100e6, "kernelCalls": 100.0, "hostOpMedianNs": 10e3}


@pytest.mark.parametrize(
    ("changed", "baseline", "told"),
    [
        ({"idleLaunch": 5e6, "idleHost": 5e6}, KERNELS, True),
        ({"idleLaunch": 4.9e6, "idleHost": 5.1e6}, KERNELS, False),
        ({"idleLaunch": 5e6, "kernelCalls": 104.0}, KERNELS, False),
        ({"idleLaunch": 5e6, "kernelCalls": 103.0}, KERNELS, True),
        ({"idleLaunch": 5e6}, None, False),
        ({"idleLaunch": 5e6, "hostOpMedianNs": 10.5e3}, KERNELS, False),
        ({"idleLaunch": 5e6, "hostOpMedianNs": 10.3e3}, KERNELS, True),
    ],
)
def test_starts_are_later_where_the_device_waits_after_as_many_launches_and_operators_are_as_fast(
    changed: Named, baseline: Named | None, told: bool
) -> None:
    case = case_of({**KERNELS, **changed}, baseline)
    said = (
        "from launch call to start the device waits {} longer per step".format(
            "4.9 ms" if changed["idleLaunch"] < 5e6 else "5 ms"
        ),
        case.change("kernels launched per step", facts.KERNEL_CALLS),
    )
    assert host._later_starts(case) == (said if told else ())


@pytest.mark.parametrize(
    ("now", "before", "step", "slower"),
    [
        (10_200.0, 10_000.0, 100.0, True),
        (10_190.0, 10_000.0, 100.0, False),
        (10_937.5, 10_000.0, 112.5, True),
        (10_937.0, 10_000.0, 112.5, False),
        (None, 10_000.0, 110.0, False),
        (10_750.0, None, 110.0, False),
        (0.0, 10_000.0, 110.0, False),
        (10_750.0, 0.0, 110.0, False),
    ],
)
def test_a_host_is_slower_throughout_where_its_median_operator_lost_most_of_what_the_step_lost(
    now: float | None, before: float | None, step: float, slower: bool
) -> None:
    def shown(compute: float, median: float | None) -> dict[str, float]:
        return {"compute": compute, **({} if median is None else {"hostOpMedianNs": median})}

    assert host._slower_throughout(case_of(shown(step, now), shown(100.0, before))) is slower


OPERATORS = {"compute": 100.0, "kernelCalls": 100.0, "hostOps": 100.0, "hostOpMedianNs": 10e6}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, True),
        ({"hostOps": 103.0, "kernelCalls": 103.0}, True),
        ({"hostOps": 104.0}, False),
        ({"kernelCalls": 104.0}, False),
        ({"hostOpMedianNs": 10e6}, False),
    ],
)
def test_threads_are_too_many_where_as_many_operators_are_each_slower(changed: Named, said: bool) -> None:
    case = case_of({**OPERATORS, "hostOpMedianNs": 12e6, **changed}, OPERATORS)
    expected = ("median operator on the host 12.0 ms, baseline 10.0 ms", "as many operators as before, each slower")
    assert host._oversubscribed(case) == (expected if said else ())


RECORDED = {**KERNELS, "inputRangeNs": 0.0}


@pytest.mark.parametrize(
    ("changed", "baseline", "told"),
    [
        ({"idleHost": 5e6, "idleSync": 5e6}, RECORDED, True),
        ({"idleHost": 5e6, "idleSync": 5.1e6}, RECORDED, False),
        ({"idleHost": 5e6}, None, False),
        ({"idleHost": 5e6, "kernelCalls": 103.0}, RECORDED, True),
        ({"idleHost": 5e6, "kernelCalls": 104.0}, RECORDED, False),
        ({"idleHost": 5e6, "hostOpMedianNs": 11e3}, RECORDED, False),
        ({"idleHost": 5e6, "hostBlockedNs": 0.5e6}, RECORDED, True),
        ({"idleHost": 5e6, "hostBlockedNs": 0.6e6}, RECORDED, False),
    ],
)
def test_python_is_the_cause_where_the_host_works_between_as_many_launches(
    changed: Named, baseline: Named | None, told: bool
) -> None:
    said = "host work between launches +5 ms per step, as many launches as before"
    assert host._python(case_of({**RECORDED, **changed}, baseline)) == ((said,) if told else ())


@pytest.mark.parametrize(
    ("shown", "known"), [({}, False), ({"inputRangeNs": 0.0}, True), ({"hostBlockedNs": 0.0}, True)]
)
def test_python_is_not_blamed_where_a_recording_would_not_show_the_input(shown: Named, known: bool) -> None:
    assert host._waits_known(case_of(shown)) is known
    assert bool(host._python(case_of({**KERNELS, "idleHost": 5e6, **shown}, KERNELS))) is known


@pytest.mark.parametrize(
    ("part", "whole", "share"), [(3.0, 10.0, 0.3), (0.5, 0.5, 1.0), (0.0, 0.0, 0.0), (3.0, -10.0, 0.0)]
)
def test_a_share_is_of_what_the_device_waits_more_and_none_where_it_does_not(
    part: float, whole: float, share: float
) -> None:
    case = case_of({"idleAlloc": part + 20, "idleSync": whole - part + 20}, {"idleAlloc": 20.0, "idleSync": 20.0})
    assert host._share(case, "idleAlloc") == share


def test_each_of_four_ways_to_launch_more_slowly_is_launch_overhead() -> None:
    (cause,) = [one for one in host.CAUSES if one.name == "LaunchOverhead"]
    ways = (
        case_of({"compute": 120.0, "kernelCalls": 110.0}, STEP),
        case_of({**STEP, "launchCalls": 16.0}, {**STEP, "launchCalls": 10.0}),
        case_of({**SLOWER, **STEP}, {**LAUNCHING, **STEP}),
        case_of({**KERNELS, "idleLaunch": 5e6}, KERNELS),
    )
    assert all(cause.evidence(case) for case in ways)
    assert cause.evidence(case_of(STEP, STEP)) == ()
