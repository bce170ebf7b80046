"""Plans of manifests that people publish: which role trains, in which way it is captured, and what makes it Live."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.profiling.plan import plan_of
from tests.unit.profiling.plan.manifests import applied
from tests.unit.profiling.plan.published import FOLDER, Published, every, told

MANIFESTS = list(every())
TRAINING = [each for each in MANIFESTS if each.trains is not None]


def name_of(published: Published) -> str:
    return f"{published.project}/{published.name}"


@pytest.mark.parametrize("published", MANIFESTS, ids=name_of)
def test_the_role_that_trains_is_the_one_that_a_person_reads(published: Published) -> None:
    plan = published.plan
    assert told(plan) == published.trains, plan.because
    assert (plan.training.pods if plan.training else None) == published.pods


@pytest.mark.parametrize("published", MANIFESTS, ids=name_of)
def test_only_what_may_be_copied_is_copied(published: Published) -> None:
    assert published.plan.way == ("Copy" if published.copied else None)


@pytest.mark.parametrize("published", TRAINING, ids=name_of)
def test_what_the_plan_adds_makes_it_live(published: Published) -> None:
    patches = published.plan.instrument
    assert patches
    documents = [dict(each) for each in published.documents]
    for patch in patches:
        at = next(index for index, each in enumerate(documents) if _is(each, patch.target.kind, patch.target.name))
        documents[at] = applied(documents[at], list(patch.operations))
    assert plan_of(documents, named=published.workload).way == "Live"


def test_every_manifest_is_in_the_truth_and_its_folder_in_the_list_of_sources() -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.yaml")}
    assert files == set(map(name_of, MANIFESTS))
    sources = (FOLDER / "README.md").read_text()
    assert all(f"| `{each.project}/` |" in sources for each in MANIFESTS)


def _is(document: Mapping[str, Any], kind: str, name: str) -> bool:
    metadata = document.get("metadata") or {}
    return document.get("kind") == kind and name in (metadata.get("name"), metadata.get("generateName"))
