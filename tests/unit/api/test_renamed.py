"""What the spec's values were called before is still taken, and said to be old."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from mfu_operator.api import decode
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ProfilingMode, RemediationMode

DEFINITION = yaml.safe_load((Path(__file__).parents[3] / "crds" / "trainingbaseline.yaml").read_text())
MANIFEST = """
metadata: {name: gpt-small, namespace: training}
spec:
  workload: {apiVersion: batch/v1, kind: Job, name: gpt-small}
  comparable: {model: gpt-small}
  baseline: {values: {mfu: 0.46}}
  profiling: {mode: PROFILING}
  remediation: {mode: REMEDIATION}
"""


def written(profiling: str, remediation: str) -> dict[str, Any]:
    body = yaml.safe_load(MANIFEST.replace("PROFILING", profiling).replace("REMEDIATION", remediation))
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize("off", ["Off", "'Off'", "off", "false"])
def test_off_is_taken_for_what_it_is_called_now_with_and_without_quotes(off: str) -> None:
    spec = decode.spec(written(off, off))
    assert (spec.profiling.mode, spec.remediation.mode) == (ProfilingMode.NEVER, RemediationMode.OBSERVE)
    assert spec.deprecated == (
        "spec.profiling.mode: Off is called Never now; a later release refuses Off",
        "spec.remediation.mode: Off is called Observe now; a later release refuses Off",
    )


def test_the_new_words_need_no_quotes_and_no_warning() -> None:
    spec = decode.spec(written("Never", "Observe"))
    assert (spec.profiling.mode, spec.remediation.mode) == (ProfilingMode.NEVER, RemediationMode.OBSERVE)
    assert spec.deprecated == ()


def test_only_the_word_itself_is_old() -> None:
    with pytest.raises(Stall, match=r"spec.profiling.mode .*write one of Never, Auto"):
        decode.spec(written("0", "Observe"))
    with pytest.raises(Stall, match=r"spec.remediation.mode .*write one of Observe, DryRun, PullRequest"):
        decode.spec(written("Never", "Never"))


@pytest.mark.parametrize("words", [("Never", "Observe"), ("'Off'", "'Off'"), ("Auto", "DryRun")])
def test_the_definition_takes_both(words: tuple[str, str]) -> None:
    assert flaws(written(*words)) == []


def test_the_definition_refuses_a_boolean_by_the_field_s_name() -> None:
    assert flaws(written("Off", "Off")) == ["spec.profiling.mode", "spec.remediation.mode"]


def flaws(body: dict[str, Any]) -> list[str]:
    """The paths that the definition's own schema refuses."""
    schema = DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = Draft202012Validator(schema).iter_errors({"apiVersion": "v", "kind": "TrainingBaseline", **body})
    return sorted({".".join(map(str, each.absolute_path)) for each in found})
