"""All stories of the matrix, told once, and the table at the end."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.cluster import preflight
from tests.cluster.cluster import Cluster
from tests.demo.environment import SECRET, bring_up, take_down
from tests.matrix.place import Place, place
from tests.matrix.stories import STORIES, Story, Told

NAMESPACES = tuple(namespace for namespaces, _ in STORIES.values() for namespace in namespaces)
PARTS = 3
ROWS: list[tuple[str, str, str, str]] = []


@pytest.fixture(scope="session")
def here() -> Iterator[Place]:
    """The cluster with its services and the operator, by its chart; taken down again unless it ran before."""
    reason = preflight.why_not()
    if reason is not None:
        pytest.fail(f"the matrix needs a cluster: {reason}")
    cluster = Cluster()
    ran_before = cluster.running()
    try:
        yield place(bring_up(cluster, NAMESPACES, secrets={name: [SECRET] for name in NAMESPACES}))
    finally:
        if not ran_before:
            take_down(cluster)


@pytest.fixture(scope="session")
def matrix(here: Place) -> Mapping[str, Future[Told | None]]:
    """What each story came to: the stories side by side, each part of all before the next part of any."""
    began_s = time.monotonic()
    stories = {name: story(here) for name, (_, story) in STORIES.items()}
    ended: dict[str, Future[Told | None]] = {}
    for _ in range(PARTS):
        with ThreadPoolExecutor(len(stories)) as pool:
            parts = {name: pool.submit(_part, story, began_s) for name, story in stories.items() if name not in ended}
        ended |= {name: told for name, told in parts.items() if told.exception() or told.result() is not None}
    return ended


def _part(story: Story, began_s: float) -> Told | None:
    """Tell the next part of a story; what it came to, where that was the last."""
    try:
        next(story)
    except StopIteration as end:
        told: Told = end.value
        ROWS.append((told.layout, told.ending, told.state, f"{time.monotonic() - began_s:.0f} s"))
        return told
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.write_sep("=", "layout, ending → state")
        for layout, ending, state, seconds in ROWS:
            terminalreporter.write_line(f"{layout:<32}{ending:<48}{state:<60}{seconds:>6}")
