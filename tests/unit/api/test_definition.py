"""A definition that lacks a field which this version writes is refused, whichever field it is."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from mfu_operator.adapters.cluster.definition import served_schema
from mfu_operator.api import status as codec
from mfu_operator.api.definition import UPGRADE, require_fields
from mfu_operator.errors import Stall
from tests.support import worlds
from tests.support.metrics_page import Page, serving_page

ROOT = Path(__file__).parents[3]
DEFINITION = yaml.safe_load((ROOT / "crds" / "trainingbaseline.yaml").read_text())
SCHEMA = DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
WRITTEN = codec.encode(
    worlds.ailing(worlds.explained(suspect=worlds.SUSPECT, proposal=replace(worlds.MERGED, opened_at=1.0)))
)


def test_the_definition_of_this_version_has_every_field() -> None:
    require_fields(SCHEMA)


def properties(written: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any, str]]:
    """Every named field of what is written: its path, the properties that it stands in, and its key there."""
    named = schema.get("properties") or {}
    for key, value in written.items():
        if key in named and key != "summary":
            yield f"{path}.{key}", named, key
            if isinstance(value, Mapping) and path.count(".") < 3 and key not in ("blocked", "failure", "milliseconds"):
                yield from properties(value, named[key], f"{path}.{key}")


def paths() -> list[str]:
    return [path for path, _, _ in properties(WRITTEN, SCHEMA["properties"]["status"], "status")]


@pytest.mark.parametrize("missing", paths())
def test_one_field_less_is_refused_by_name_with_the_command_that_upgrades(missing: str) -> None:
    plain = json.loads(json.dumps(SCHEMA))
    for path, named, key in list(properties(WRITTEN, plain["properties"]["status"], "status")):
        if path == missing:
            del named[key]
    with pytest.raises(Stall) as raised:
        require_fields(plain)
    assert raised.value.reason == "DefinitionOutdated"
    assert missing in raised.value.message
    assert UPGRADE in raised.value.message


def test_enough_fields_are_looked_at_for_it_to_say_something() -> None:
    assert {"status.incident.proposal.openedAt", "status.judgement.verdict", "status.knownGood"} <= set(paths())


def test_the_served_one_is_found_with_a_list_of_one() -> None:
    other = {"name": "v1beta9", "schema": {"openAPIV3Schema": {}}}
    found = deepcopy(DEFINITION)
    found["spec"]["versions"].insert(0, other)
    page = Page(json.dumps({"items": [found]}))
    with serving_page(page) as port:
        schema = served_schema(client.ApiClient(client.Configuration(host=f"http://127.0.0.1:{port}")))
    assert schema == SCHEMA
    assert "fieldSelector=metadata.name%3Dtrainingbaselines.mfu-operator.io" in page.asked[0]
