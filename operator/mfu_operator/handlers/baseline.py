"""What the API server tells of TrainingBaselines goes to the fleet.

Ticks are not kopf's: a timer looks at the cluster whether or not there is anything new, and for ten thousand baselines
that is thirty times what all of measuring and judging costs, and a third of a gigabyte.

There is no handler that needs kopf's own annotations or a finalizer: finalizers of earlier versions are taken off.
"""

from typing import Any

import kopf

from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.handlers.shell import Shell


@kopf.on.event(GROUP, VERSION, PLURAL)
async def heard(event: kopf.RawEvent, memo: kopf.Memo, **_: Any) -> None:
    """An object is there, was changed, or is gone."""
    shell: Shell = memo.shell
    body = event["object"]
    if event["type"] == "DELETED":
        shell.reconciler.gone(body["metadata"]["uid"])
    else:
        shell.reconciler.saw(body)
