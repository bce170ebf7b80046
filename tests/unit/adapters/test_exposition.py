"""The wanted samples of a page."""

import time
from collections.abc import Mapping

import pytest

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.scrape.exposition import MOST_SAMPLES, samples_of
from mfu_operator.adapters.scrape.pod_pages import LARGEST_PAGE
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import MetricsSource
from tests.support.metrics_page import OPENMETRICS, TEXT

NAMES = names_of(MetricsSource())


def samples(text: str, content_type: str = TEXT) -> list[tuple[str, Mapping[str, str], float]]:
    return list(samples_of(content_type, text, NAMES, 1000.0))


def problem(text: str, content_type: str = TEXT) -> str:
    with pytest.raises(Unreadable) as caught:
        samples(text, content_type)
    return caught.value.message


@pytest.mark.parametrize(
    "line",
    [
        "mfu_probe_mfu_ratio 0.4",
        "  mfu_probe_mfu_ratio  0.4",
        "mfu_probe_mfu_ratio\t0.4",
        "mfu_probe_mfu_ratio{} 0.4\r",
        'mfu_probe_mfu_ratio{note="a } b # c\u2028d"} 0.4',
        '{"mfu_probe_mfu_ratio"} 0.4',
    ],
)
def test_a_sample_is_read_however_it_is_written(line: str) -> None:
    ((kind, _, value),) = samples(f"# HELP other x\nother_mfu_probe_mfu_ratio 9\n{line}\nmfu_probe_mfu_ratio_max 9\n")
    assert (kind, value) == ("mfu", 0.4)


@pytest.mark.parametrize("content_type", [TEXT, OPENMETRICS])
def test_what_is_wrong_with_a_page_is_told_by_its_line_and_not_by_its_words(content_type: str) -> None:
    told = problem('mfu_probe_mfu_ratio 0.4\nmfu_probe_mfu_ratio{token="hunter2} 0.4\n# EOF\n', content_type)
    assert "in line 2" in told
    assert "hunter2" not in told
    assert len(told) < 80


def test_a_counter_of_an_openmetrics_page_may_have_an_exemplar() -> None:
    page = '# TYPE mfu_probe_steps counter\nmfu_probe_steps_total 12 # {trace_id="a"} 1 10.5\n# EOF\n'
    assert samples(page, OPENMETRICS) == [("steps", {}, 12.0)]


@pytest.mark.parametrize("sample", ["9" * 400, f"0.4 {'9' * 400}", "²", "", "0.4 x"])
@pytest.mark.parametrize("content_type", [TEXT, OPENMETRICS])
def test_a_number_that_is_none_makes_the_page_none(sample: str, content_type: str) -> None:
    assert "in line 1" in problem(f"mfu_probe_mfu_ratio {sample}\n# EOF\n", content_type)


@pytest.mark.parametrize("labels", ["", '{rank="0"}'])
def test_a_native_histogram_has_no_value_and_hides_no_other(labels: str) -> None:
    histogram = (
        "# TYPE mfu_probe_mfu_ratio histogram\n"
        f"mfu_probe_mfu_ratio{labels} {{count:24,sum:100,schema:0,zero_threshold:0.001,zero_count:4,"
        "positive_spans:[0:2,1:2],negative_spans:[0:2,1:2],positive_deltas:[2,1,-3,3],negative_deltas:[2,1,-2,3]}\n"
    )
    assert samples(f"{histogram}mfu_probe_step_seconds 2.0\n# EOF\n", OPENMETRICS) == [("stepTime", {}, 2.0)]


def test_the_samples_of_one_page_are_counted() -> None:
    page = "".join(f'mfu_probe_mfu_ratio{{rank="{rank}"}} 0.4\n' for rank in range(MOST_SAMPLES))
    assert len(samples(page)) == MOST_SAMPLES
    assert f"more than {MOST_SAMPLES} samples" in problem(page + "mfu_probe_mfu_ratio 0.4\n")


def test_a_page_of_what_nobody_wants_costs_milliseconds() -> None:
    line = 'vllm_other_metric_bucket{le="0.5",model="gpt"} 12\n'
    page = line * (LARGEST_PAGE // len(line)) + "mfu_probe_mfu_ratio 0.4\n"
    begun_s = time.thread_time()
    assert samples(page) == [("mfu", {}, 0.4)]
    assert time.thread_time() - begun_s < 0.2
