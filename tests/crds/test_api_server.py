"""The real API server takes the definition and the samples, and refuses the bad ones with what to write instead.

`kubectl(*arguments, stdin_text=...)` runs kubectl against it and gives the CompletedProcess.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from mfu_operator.api import status
from mfu_operator.api.group import GROUP, PLURAL
from mfu_operator.reconcile.conditions import conditions
from tests.crds.definition import DEFINITION, INVALID, SAMPLES, expectation
from tests.support import worlds
from tests.unit.api.test_status import story

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., "CompletedProcess[str]"]
NAMESPACE = "default"


@pytest.fixture(scope="module")
def server(kubectl: Kubectl) -> Kubectl:
    """kubectl against an API server that serves our definition."""
    applied = kubectl("apply", "--server-side", "--force-conflicts", f"--filename={DEFINITION}")
    assert applied.returncode == 0, applied.stderr
    served = kubectl("wait", "--for=condition=Established", f"crd/{PLURAL}.{GROUP}", "--timeout=60s")
    assert served.returncode == 0, served.stderr
    return kubectl


@pytest.fixture
def baseline(server: Kubectl) -> Iterator[str]:
    """The name of a TrainingBaseline of a job that does not exist, so that nobody acts on it; deleted afterwards."""
    name = "crd-test"
    manifest = {
        "apiVersion": "mfu-operator.io/v1alpha1",
        "kind": "TrainingBaseline",
        "metadata": {"name": name},
        "spec": {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "nobody"},
            "comparable": {"model": "gpt-small"},
            "baseline": {"values": {"mfu": 0.46}},
            "suspend": True,
        },
    }
    created = server("apply", f"--namespace={NAMESPACE}", "--filename=-", stdin_text=json.dumps(manifest))
    assert created.returncode == 0, created.stderr
    yield name
    server("delete", "tb", name, f"--namespace={NAMESPACE}", "--wait=false")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_taken(server: Kubectl, sample: Path) -> None:
    done = server("apply", "--dry-run=server", f"--namespace={NAMESPACE}", f"--filename={sample}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sample", INVALID, ids=lambda path: path.stem)
def test_a_bad_sample_is_refused_with_what_to_write_instead(server: Kubectl, sample: Path) -> None:
    done = server("apply", "--dry-run=server", f"--namespace={NAMESPACE}", f"--filename={sample}")
    assert done.returncode != 0
    assert expectation(sample) in done.stderr


def test_what_the_numbers_are_true_for_cannot_be_changed_alone(server: Kubectl, baseline: str) -> None:
    def patch(spec: object) -> "CompletedProcess[str]":
        change = json.dumps({"spec": spec})
        return server("patch", "tb", baseline, f"--namespace={NAMESPACE}", "--type=merge", f"--patch={change}")

    refused = patch({"comparable": {"globalBatch": 1024}})
    assert "for another configuration create a TrainingBaseline of another name" in refused.stderr
    assert patch({"comparable": {"globalBatch": 1024}, "baseline": {"values": {"mfu": 0.45}}}).returncode == 0
    assert patch({"workload": {"name": "renamed"}}).returncode == 0


def test_a_status_is_stored_and_shown_as_it_was_written(server: Kubectl, baseline: str) -> None:
    stored, row = _written_and_shown(server, baseline, json.dumps({"status": status.encode(story())}))
    assert status.decode(stored) == status.decode(status.encode(story()))
    for text in ("gpt-small", "0.381", "0.460", "−17.1%", "Regressed", "InputStarved", "https://git/pulls/7 (Open)"):
        assert text in row


def test_kubectl_waits_for_the_end_of_an_incident(server: Kubectl, baseline: str) -> None:
    """The status is what the operator writes of a job that is well; one that runs beside the test writes it too."""
    well = replace(worlds.SETTLED, conditions=conditions(worlds.world(), worlds.SETTLED, ()))
    place, written = (baseline, f"--namespace={NAMESPACE}"), json.dumps({"status": status.encode(well)})
    patched = server("patch", "tb", *place, "--subresource=status", "--type=merge", f"--patch={written}")
    assert patched.returncode == 0, patched.stderr
    done = server("wait", "--for=condition=Regressed=false", f"tb/{baseline}", place[1], "--timeout=30s")
    assert done.returncode == 0, done.stderr


def _written_and_shown(server: Kubectl, baseline: str, written: str) -> tuple[dict[str, Any], str]:
    """What the API server stored, and the row it shows. Written again where a running operator came between."""
    place = (baseline, f"--namespace={NAMESPACE}")
    for _ in range(5):
        patch = ("--subresource=status", "--type=merge", f"--patch={written}", "--output=json")
        patched = server("patch", "tb", *place, *patch)
        assert patched.returncode == 0, patched.stderr
        row = server("get", "tb", *place, "--no-headers").stdout
        if "Regressed" in row:
            break
    return json.loads(patched.stdout)["status"], row
