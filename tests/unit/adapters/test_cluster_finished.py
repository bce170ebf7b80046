"""Each kind says in its own words that it ended."""

from typing import Any

import pytest

from mfu_operator.adapters.cluster.kinds import has_finished


@pytest.mark.parametrize(
    ("status", "finished"),
    [
        ({"conditions": [{"type": "Complete", "status": "True"}]}, True),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, True),
        ({"conditions": [{"type": "Failed", "status": "False"}, {"type": "Running", "status": "True"}]}, False),
        ({"conditions": [{"type": "Suspended", "status": "True"}]}, False),
        ({"jobDeploymentStatus": "Complete"}, True),
        ({"jobDeploymentStatus": "Running"}, False),
        ({"state": {"phase": "Aborted"}}, True),
        ({"state": {"phase": "Restarting"}}, False),
        ({}, False),
        ({"conditions": None}, False),
    ],
)
def test_a_workload_says_that_it_ended(status: dict[str, Any], finished: bool) -> None:
    assert has_finished({"status": status}) is finished
