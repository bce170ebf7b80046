"""When an application counts as synced, and what is said of one that is not."""

from typing import Any

import pytest

from tests.cluster.argocd import explained, is_synced

_REVISION = "a" * 40


def _application(sync: str = "Synced", revision: str = _REVISION, phase: str = "Succeeded") -> dict[str, Any]:
    return {"status": {"sync": {"status": sync, "revision": revision}, "operationState": {"phase": phase}}}


@pytest.mark.parametrize("revision", [None, _REVISION])
def test_synced_to_the_revision_or_to_any(revision: str | None) -> None:
    assert is_synced(_application(), revision)


@pytest.mark.parametrize(
    "application",
    [
        {},
        {"status": {}},
        _application(sync="OutOfSync"),
        _application(revision="b" * 40),
        _application(phase="Running"),
        _application(phase="Failed"),
        _application() | {"operation": {"sync": {}}},
    ],
)
def test_not_synced_while_anything_is_missing_wrong_or_under_way(application: dict[str, Any]) -> None:
    assert not is_synced(application, _REVISION)


def test_the_explanation_names_argo_cds_complaints() -> None:
    application = _application(sync="Unknown")
    application["status"]["conditions"] = [{"type": "ComparisonError", "message": "authentication required"}]
    assert "authentication required" in explained(application)
    assert "Unknown" in explained(application)


def test_an_application_that_is_gone_can_be_explained() -> None:
    assert "sync" in explained({})
