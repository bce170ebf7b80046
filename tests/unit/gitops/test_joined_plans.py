"""Several applications that deploy one workload are one plan, in which each part keeps its own source."""

import pytest

from mfu_operator.gitops.sources.applications import plan


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three")])
def test_each_part_keeps_the_source_that_its_application_names(names: tuple[str, ...]) -> None:
    manifests = [
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": name, "namespace": "argocd"},
            "spec": {"source": {"repoURL": f"https://git.example/{name}", "path": name, "targetRevision": "main"}},
        }
        for name in names
    ]
    joined = plan(manifests)
    told = [(joined.sources[part.source].repository, part.path) for part in joined.parts]
    assert told == [(f"https://git.example/{name}", name) for name in names]
