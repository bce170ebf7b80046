"""The definition says all that it must, and what the operator reads and writes is what it defines."""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from mfu_operator.api import codec, decode, group, status
from mfu_operator.model.baseline import BaselineSpec, Comparable, RecordPlan, WorkloadRef
from mfu_operator.model.fact import Facts
from mfu_operator.model.incident import Status
from tests.crds.definition import INVALID, SAMPLES, closed, definition, expectation, schema, walk, with_defaults
from tests.unit.api.strategies import statuses

COLUMNS = ["Model", "MFU", "Baseline", "Change", "Verdict", "Bottleneck", "Pull Request", "Age"]
WIDE = ["Doing", "Evidence", "Suspect", "Workload"]
UNDESCRIBED = {".metadata"}
"""The API server allows no description there."""


def test_the_names_are_those_of_the_code() -> None:
    spec = definition()["spec"]
    assert (spec["group"], spec["names"]["kind"], spec["names"]["plural"]) == (group.GROUP, group.KIND, group.PLURAL)
    assert spec["names"]["shortNames"] == [group.SHORT_NAME]
    assert [version["name"] for version in spec["versions"]] == [group.VERSION]
    assert definition()["metadata"]["name"] == f"{group.PLURAL}.{group.GROUP}"


def test_every_field_is_described() -> None:
    bare = [path for path, node in walk(schema(), "") if not node.get("description") and path not in UNDESCRIBED]
    assert bare == []


def test_a_node_has_only_what_a_schema_may_have() -> None:
    """A description with a comma in it, without quotes, becomes a key of its own, and the API server refuses all."""
    known = {
        "type", "description", "properties", "required", "items", "default", "enum", "format", "pattern", "minLength",
        "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "additionalProperties", "anyOf",
        "maxProperties", "minProperties",
    }  # fmt: skip
    odd = {path: [key for key in node if key not in known and not key.startswith("x-kubernetes-")]
           for path, node in walk(schema(), "")}  # fmt: skip
    assert {path: keys for path, keys in odd.items() if keys} == {}


def test_every_rule_says_what_to_write() -> None:
    for path, node in walk(schema(), ""):
        for rule in node.get("x-kubernetes-validations", []):
            assert rule["message"], path


def test_every_rule_has_a_bad_sample_that_meets_it() -> None:
    """The API server is shown the samples elsewhere; what holds between an object and its past is tried there too."""
    rules = [rule for _, node in walk(schema(), "") for rule in node.get("x-kubernetes-validations", [])]
    met = [expectation(sample) for sample in INVALID]
    messages = {rule["message"] for rule in rules if "oldSelf" not in rule["rule"]}
    assert {message for message in messages if not any(words in message for words in met)} == set()


def test_every_text_of_the_spec_is_bounded() -> None:
    """CEL's cost is estimated from the longest text and list there can be."""
    for path, node in walk(schema()["properties"]["spec"], "spec"):
        if node.get("type") == "string" and "x-kubernetes-validations" in node:
            assert "maxLength" in node, path
        if node.get("type") == "array":
            assert "maxItems" in node, path


def test_the_status_refuses_nothing_that_a_newer_operator_writes() -> None:
    for path, node in walk(schema()["properties"]["status"], "status"):
        assert "enum" not in node and "pattern" not in node, path
        assert "required" not in node or path == "status.conditions[]", path


def test_the_columns() -> None:
    version = definition()["spec"]["versions"][0]
    columns = version["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == COLUMNS
    assert [column["name"] for column in columns if column.get("priority")] == WIDE
    assert version["subresources"] == {"status": {}}
    for column in columns:
        node: Mapping[str, Any] = schema()
        for name in column["jsonPath"].strip(".").split("."):
            if node.get("properties", {}).get(name) is None:
                assert name == "creationTimestamp", column
                break
            node = node["properties"][name]


def test_the_defaults_are_those_of_the_code() -> None:
    least = {
        "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt"},
        "comparable": {"model": "gpt"},
        "baseline": {"record": {}},
    }
    stored = with_defaults(least, schema()["properties"]["spec"])
    assert decode.spec({"metadata": {"namespace": "training"}, "spec": stored}) == BaselineSpec(
        workload=WorkloadRef("batch/v1", "Job", "training", "gpt"),
        comparable=Comparable("gpt"),
        record=RecordPlan(duration_s=1800.0, warmup_s=300.0),
    )


def test_the_status_defines_exactly_what_is_written() -> None:
    node = dict(schema()["properties"]["status"])
    node["properties"] = {name: child for name, child in node["properties"].items() if name != "summary"}
    assert list(_differences(Status, node, "status")) == []


def _differences(kind: type, node: Mapping[str, Any], path: str) -> list[str]:
    hints = {codec.key_of(name): hint for name, hint in get_type_hints(kind).items()}
    found = [f"{path}.{key}" for key in sorted(hints.keys() ^ node["properties"].keys())]
    for key, hint in hints.items():
        child = node["properties"].get(key, {})
        for part in (hint, *get_args(hint)):
            if is_dataclass(part) and isinstance(part, type) and child and part is not Facts:
                found += _differences(part, child.get("items", child), f"{path}.{key}")
    return found


STATUS = jsonschema.Draft202012Validator(closed(schema()["properties"]["status"]))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(statuses())
def test_what_is_written_is_what_is_defined(value: Status) -> None:
    STATUS.validate(json.loads(json.dumps(status.encode(value))))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_can_be_read(sample: Path) -> None:
    body = yaml.safe_load(sample.read_text())
    jsonschema.validate(body["spec"], closed(schema()["properties"]["spec"]))
    stored = with_defaults(body, schema())
    stored["metadata"]["namespace"] = "training"
    assert decode.spec(stored).workload.title


@pytest.mark.parametrize("sample", INVALID, ids=lambda path: path.stem)
def test_a_bad_sample_says_what_is_expected(sample: Path) -> None:
    assert len(expectation(sample)) > 20
    assert yaml.safe_load(sample.read_text())["kind"] == group.KIND
