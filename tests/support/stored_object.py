"""The TrainingBaseline of `worlds` as the API server stores it."""

from typing import Any

from mfu_operator.api.group import GROUP_VERSION, KIND
from tests.support import worlds


def stored_object(**spec: Any) -> dict[str, Any]:
    """The object; what is given stands in its spec beside what it needs."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {
            "namespace": "team-a", "name": "gpt-small", "uid": worlds.UID, "generation": 1, "resourceVersion": "1"
        },
        "spec": {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt-small"},
            "comparable": {"model": "gpt-small"},
            "baseline": {"values": {"mfu": 0.46}},
            **spec,
        },
    }  # fmt: skip
