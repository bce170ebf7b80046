"""`python -m tests.demo run|down`: what `make demo` and `make demo-down` call."""

import sys
import time

from tests.cluster import preflight
from tests.cluster.process import CommandFailed, NotReady
from tests.demo.environment import bring_up, chosen_cluster, take_down
from tests.demo.foreign import MissingSettingError
from tests.demo.scenario import Scenario
from tests.demo.screen import show
from tests.demo.story import NAMESPACE, tell

FAILED = 1
CANNOT = 2
INTERRUPTED = 130
"""As shells have it: 128 + SIGINT."""


def main() -> int:
    """Run or remove the demo; 0 done, 1 failed, 2 this machine cannot, 130 interrupted."""
    if sys.argv[1:] not in (["run"], ["down"]):
        print(__doc__, file=sys.stderr)
        return CANNOT
    reason = preflight.why_not()
    if reason is not None:
        print(f"demo: {reason}", file=sys.stderr)
        return CANNOT
    try:
        return _down() if sys.argv[1] == "down" else _run()
    except (NotReady, CommandFailed, MissingSettingError) as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        print(f"\ndemo: {error}\n{notes}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\ndemo: interrupted. make demo tells it again, make demo-down removes every trace", file=sys.stderr)
        return INTERRUPTED


def _run() -> int:
    began_s = time.monotonic()
    environment = bring_up(chosen_cluster(), [NAMESPACE])
    ready_s = time.monotonic() - began_s
    story = tell(Scenario(environment, NAMESPACE))
    show(story, ready_s, time.monotonic() - began_s)
    return 0


def _down() -> int:
    take_down(chosen_cluster())
    return 0


if __name__ == "__main__":
    sys.exit(main())
