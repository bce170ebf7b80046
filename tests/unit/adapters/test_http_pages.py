"""A page over HTTP, or what to check where there is none."""

import threading

import pytest

from mfu_operator.adapters.scrape.pod_pages import HttpPages
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.errors import MfuError, Retry
from tests.support.metrics_page import TEXT, Page, serving_page
from tests.support.pods_double import JOB, PROBE


def target(port: int) -> Target:
    return Target(JOB, "gpt-0", "127.0.0.1", port, "/metrics")


def failure(page: Page, pages: HttpPages) -> MfuError:
    with serving_page(page) as port, pytest.raises(MfuError) as caught:
        pages.fetch(target(port))
    return caught.value


def test_a_page_is_fetched_over_http() -> None:
    page = Page(PROBE)
    with serving_page(page) as port:
        assert HttpPages().fetch(target(port)) == (TEXT, PROBE)
    assert page.asked == ["/metrics"]


def test_a_port_where_nothing_listens_says_what_to_check() -> None:
    with serving_page(Page()) as port:
        pass
    with pytest.raises(Retry, match="does the training process listen there") as caught:
        HttpPages().fetch(target(port))
    assert caught.value.reason == "PodUnreachable"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_another_answer_than_ok_is_no_page_and_no_redirect_is_followed(status: int) -> None:
    page = Page(PROBE, status=status)
    assert f"answered {status}" in failure(page, HttpPages()).message
    assert page.asked == ["/metrics"]


def test_a_page_without_end_is_given_up() -> None:
    assert "larger than 1 MiB" in failure(Page("x" * (1 << 20) + "y"), HttpPages(largest=1 << 20)).message


def test_a_page_that_trickles_is_given_up_in_time() -> None:
    page, waiting = Page("x" * 10_000), threading.Event()
    page.trickle = lambda: waiting.wait(0.05)
    assert "within 0.3 s" in failure(page, HttpPages(deadline_s=0.3)).message
