"""The stories run side by side, once; each test waits for the one that it looks at."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.demo.environment import Environment
from tests.e2e.stories import (
    CarefulJob,
    HinderedJob,
    MainJob,
    QuietJob,
    careful_job,
    hindered_job,
    main_job,
    quiet_job,
)


@dataclass(frozen=True)
class Running:
    """The stories under way."""

    main: "Future[MainJob]"
    quiet: "Future[QuietJob]"
    careful: "Future[CarefulJob]"
    hindered: "Future[HinderedJob]"


@pytest.fixture(scope="session")
def stories(environment: Environment) -> Iterator[Running]:
    """All stories: three begun at once, as many as two cores carry, and the last when one of them is told."""
    with ThreadPoolExecutor(3) as pool:
        yield Running(
            pool.submit(main_job, environment),
            pool.submit(quiet_job, environment),
            pool.submit(careful_job, environment),
            pool.submit(hindered_job, environment),
        )


@pytest.fixture(scope="session")
def main(stories: Running) -> MainJob:
    """The main job, told to its end."""
    return stories.main.result()


@pytest.fixture(scope="session")
def quiet(stories: Running) -> QuietJob:
    """The job with dips and a harmless commit."""
    return stories.quiet.result()


@pytest.fixture(scope="session")
def careful(stories: Running) -> CarefulJob:
    """The regression under Off and DryRun."""
    return stories.careful.result()


@pytest.fixture(scope="session")
def hindered(stories: Running) -> HinderedJob:
    """The job whose profile is kept from being recorded, twice."""
    return stories.hindered.result()
