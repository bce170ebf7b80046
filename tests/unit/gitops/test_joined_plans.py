"""Several applications that deploy one workload are one plan, in which each part keeps its own source."""

from typing import Any

import pytest

from mfu_operator.gitops.sources.applications import plan


def application(name: str, **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
    return {**head, "metadata": {"name": name, "namespace": "argocd"}, "spec": spec}


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three")])
def test_each_part_keeps_the_source_that_its_application_names(names: tuple[str, ...]) -> None:
    manifests = [
        application(name, source={"repoURL": f"https://git.example/{name}", "path": name, "targetRevision": "main"})
        for name in names
    ]
    joined = plan(manifests)
    told = [(joined.sources[part.source].repository, part.path) for part in joined.parts]
    assert told == [(f"https://git.example/{name}", name) for name in names]


def test_a_source_that_a_hydrator_renders_and_the_same_branch_followed_directly_stay_two_sources() -> None:
    place = {"repoURL": "https://git.example/one", "targetRevision": "main", "path": "gpt"}
    hydrator = {"drySource": place, "syncSource": {"targetBranch": "env/prod", "path": "gpt"}}
    joined = plan([application("dry", sourceHydrator=hydrator), application("direct", source=place)])
    assert [joined.sources[part.source].hydrated is None for part in joined.parts] == [False, True]
