"""`-o html`: one page that stands alone, holds what the JSON holds, and shows nothing that a trace wrote as markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.page import html_page
from tests.support.synthetic.kineto_file import KinetoFile

TRACES = Path("tests/data/traces")
MS = 1_000_000
EMPTY = {"meta"}


class Outline(HTMLParser):
    """Checks that every tag is closed where it was opened, and gathers tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def resnet(name: str) -> Path:
    return TRACES / f"kineto/resnet50_workers{name}.json.gz"


def pages() -> list[str]:
    starting = TRACES / "hta/alexnet_first_iteration.json.gz"
    answers = (analyze([resnet("0_a")]), analyze([resnet("0_a")], [resnet("4_a")]), analyze([starting]))
    return [html_page(one) for one in answers]


@pytest.mark.parametrize("page", pages(), ids=["alone", "with a baseline", "start-up"])
def test_a_page_stands_alone_and_is_well_formed(page: str) -> None:
    outline = Outline(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(outline.tags)
    assert not [name for name, _ in outline.attributes if name in ("src", "href") or name.startswith("on")]
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|https?://", page)
    assert "prefers-color-scheme:dark" in page


def test_a_page_holds_verdict_parts_steps_kernels_and_what_is_to_be_gained() -> None:
    text = Outline(pages()[0]).text
    for said in (
        "InputStarved / DataLoaderWorkers",
        "input wait 58.9 ms of 177.2 ms per step",
        "waiting for input",
        "TensorCoresUnused",
        "33.05",
        "6 steps, the longest 181.3 ms",
        "dgrad_engine",
        "Tesla V100-DGXS-32GB",
    ):
        assert said in text


def test_with_a_baseline_both_steps_are_drawn_to_one_scale() -> None:
    page = pages()[1]
    widths = [
        sum(float(width) for width in re.findall(r"width:([\d.]+)%;background", bar))
        for bar in re.findall(r'<div class="bar">(.*?)</div>', page)
    ]
    assert widths == [pytest.approx(100, abs=0.1), pytest.approx(100 * 135.18 / 177.21, abs=0.1)]
    assert "Kernels that changed" in page
    assert "+58.5" in page


def test_a_start_up_is_shown_and_nothing_is_said_per_step() -> None:
    text = Outline(pages()[2]).text
    assert "Start-up: 40873.2 ms" in text
    assert "cudaFree" in text
    assert "per step" not in text


def test_what_a_trace_wrote_is_text_and_never_markup(tmp_path: Path) -> None:
    file, name = KinetoFile(), '"><script>alert(1)</script>'
    for number in range(5):
        begin = number * 10 * MS
        file.range(f"ProfilerStep#{number + 1}", begin, begin + 10 * MS)
        call = file.call("cudaLaunchKernel", begin + MS, begin + MS + 1000)
        file.kernel(name, begin + 2 * MS, begin + 9 * MS, call)
    page = html_page(analyze([file.write(tmp_path / "<b>trace")]))
    outline = Outline(page)
    assert "script" not in outline.tags
    assert "<b>trace" not in page
    assert name in outline.text
