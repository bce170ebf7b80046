"""Runs that are submitted again under another name: whose the pods are, and which run is judged."""

from typing import Any

from mfu_operator.profiling.plan.runs import controller_name, name_of_bare, runs_of


def pod(run: str, created: str = "2026-11-22T07:00:00Z", phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": run, "controller": True}
    made = {"name": f"{run}-x", "creationTimestamp": created, "ownerReferences": [owner], **metadata}
    return {"metadata": made, "status": {"phase": phase}}


def named(*pods: dict[str, Any]) -> list[str]:
    return [run.name for run in runs_of(pods, lambda each: controller_name(each, "Job"))]


def test_the_newest_active_run_comes_first_and_those_that_ended_last() -> None:
    old = pod("gpt-1", "2026-11-20T07:00:00Z")
    new = pod("gpt-2", "2026-11-22T07:00:00Z")
    ended = pod("gpt-3", "2026-11-23T07:00:00Z", "Succeeded")
    assert named(ended, old, new) == ["gpt-2", "gpt-1", "gpt-3"]


def test_a_pod_that_was_replaced_does_not_make_an_old_run_new() -> None:
    first, replaced = pod("gpt-1", "2026-11-20T07:00:00Z"), pod("gpt-1", "2026-11-24T07:00:00Z")
    assert named(first, replaced, pod("gpt-2", "2026-11-22T07:00:00Z")) == ["gpt-2", "gpt-1"]


def test_a_run_is_active_while_one_of_its_pods_is() -> None:
    (run,) = runs_of([pod("gpt-1", phase="Succeeded"), pod("gpt-1", phase="Pending")], lambda _: "gpt-1")
    assert run.active


def test_pods_that_another_kind_made_are_left_out() -> None:
    other = pod("eval", ownerReferences=[{"kind": "Workflow", "name": "eval"}])
    assert named(other, pod("gpt-1")) == ["gpt-1"]


def test_a_deployments_pods_are_known_by_their_hash() -> None:
    owner = {"kind": "ReplicaSet", "name": "gpt-7f9c"}
    made = pod("gpt", ownerReferences=[owner], labels={"pod-template-hash": "7f9c"})
    assert controller_name(made, "Deployment") == "gpt"


def test_bare_pods_are_one_run_under_what_their_names_begin_with() -> None:
    pods = [{"metadata": {"name": name}} for name in ("gpt-20261122-0", "gpt-20261122-1")]
    assert name_of_bare(pods) == "gpt"
    assert name_of_bare(pods[:1]) == "gpt-20261122-0"
