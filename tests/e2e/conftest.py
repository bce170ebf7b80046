"""The stories run side by side, once; each test waits for the one that it looks at."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import pytest

from tests.demo.environment import Environment
from tests.e2e.ailments import AilingJob, ailing_job
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
    ailing: "Future[AilingJob]"


@pytest.fixture(scope="session")
def stories(environment: Environment) -> Iterator[Running]:
    """All stories: three begun at once, as many as two cores carry, and the fourth when one of them is told. The quiet
    job's run falls ill afterwards, which costs no more than the run itself, and not before the main story has killed
    the operator's leader: what a hang and the gate after it look like is told by one that saw them."""
    deposed = Event()
    with ThreadPoolExecutor(3) as pool, ThreadPoolExecutor(1) as afterwards:
        main = pool.submit(main_job, environment, deposed.set)
        main.add_done_callback(lambda _: deposed.set())
        quiet = pool.submit(quiet_job, environment)
        yield Running(
            main,
            quiet,
            pool.submit(careful_job, environment),
            pool.submit(hindered_job, environment),
            afterwards.submit(lambda: ailing_job(quiet.result(), deposed.wait)),
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
    """The regression under Observe and DryRun."""
    return stories.careful.result()


@pytest.fixture(scope="session")
def hindered(stories: Running) -> HinderedJob:
    """The job whose profile is kept from being recorded, twice."""
    return stories.hindered.result()


@pytest.fixture(scope="session")
def ailing(stories: Running) -> AilingJob:
    """The run that hangs, goes on, and then loses its loss."""
    return stories.ailing.result()
