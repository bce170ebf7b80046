"""What goes into a label selector can be a label's value and nothing else."""

import pytest

from mfu_operator.adapters.cluster.kinds import KINDS


@pytest.mark.parametrize("name", ["x in (a,b)", "x,app", "x)", "", "-x", "x" * 64, "x!", "x\n", 7, None])
def test_a_name_that_would_select_others_pods_selects_none(name: object) -> None:
    assert KINDS["Job"].pod_label_value({"metadata": {"name": name}}) is None
    assert KINDS["RayJob"].pod_label_value({"metadata": {"name": "x"}, "status": {"rayClusterName": name}}) is None


def test_a_name_selects_its_pods() -> None:
    assert KINDS["Job"].pod_label_value({"metadata": {"name": "gpt-small.v1"}}) == "gpt-small.v1"
    assert KINDS["RayJob"].pod_label_value({"status": {"rayClusterName": "ray-x"}}) == "ray-x"
