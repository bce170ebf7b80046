"""An upgrade from the release before: `helm upgrade` changes nothing that Kubernetes does not let change, and the new
definition takes what the old one took. (What an earlier release stored in a status: tests/faults/test_upgrade.py.)

released/ holds the chart of that release, as `packed` made it of commit fffb414.
"""

import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.cluster.toolchain import go_binaries
from tests.crds.definition import schema, walk
from tests.supply.release import CHART, ROOT
from tests.support.built import built

BEFORE = Path(__file__).parent / "released" / "mfu-operator-fffb414.tgz"
HELM = built("helm", "helm")
pytestmark = [] if HELM else [pytest.mark.cluster]
GONE_VALUES = {"secretNamespaces"}
"""Values that the chart no longer takes. Each is named in the notes before an upgrade."""

GUARDS = "files/guards.yaml"

Object = Mapping[str, Any]


def rendered(chart: Path, home: Path) -> dict[tuple[str, str, str], Object]:
    helm = str(HELM or go_binaries("helm") / "helm")
    command = [helm, "template", "mfu-operator", str(chart), "--namespace=mfu-system"]
    done = subprocess.run(command, env={"HOME": str(home)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


def of_before(name: str) -> Any:
    """A file of the chart before, as YAML; None where it had none."""
    with tarfile.open(BEFORE) as archive:
        if f"mfu-operator/{name}" not in archive.getnames():
            return None
        found = archive.extractfile(f"mfu-operator/{name}")
        assert found is not None
        return yaml.safe_load(found.read())


def immutable(each: Object) -> object:
    """What the API server lets nobody change in an object of this kind."""
    if each["kind"] == "Deployment":
        return each["spec"]["selector"]
    if each["kind"].endswith("RoleBinding"):
        return each["roleRef"]
    if each["kind"] == "PriorityClass":
        return each["value"], each["preemptionPolicy"]
    return None


def test_what_nobody_may_change_stays_as_it_was(tmp_path: Path) -> None:
    before, now = rendered(BEFORE, tmp_path), rendered(CHART, tmp_path)
    kept = before.keys() & now.keys()
    assert {("Deployment", "mfu-system", "mfu-operator"), ("Service", "mfu-system", "mfu-operator-metrics")} <= kept
    assert {kind for kind, _, _ in kept} >= {"Deployment", "ClusterRoleBinding", "PriorityClass"}
    assert [key for key in kept if immutable(before[key]) != immutable(now[key])] == []


def test_the_values_of_before_are_taken_but_for_those_that_the_notes_name() -> None:
    values = of_before("values.yaml")
    given = {name: value for name, value in values.items() if name not in GONE_VALUES}
    jsonschema.validate(given, yaml.safe_load((CHART / "values.schema.json").read_text()))
    with pytest.raises(jsonschema.ValidationError, match="secretNamespaces"):
        jsonschema.validate(values, yaml.safe_load((CHART / "values.schema.json").read_text()))
    told = (ROOT / "CHANGELOG.md").read_text().partition("### Before you upgrade")[2].partition("### Added")[0]
    assert [name for name in GONE_VALUES if f"`{name}`" not in told] == []


def vouched(guards: Any) -> list[list[str]]:
    """The fields that each binding of the policy vouches for; none of a release that had no policy."""
    return [each["fields"] for each in guards or ()]


def test_no_binding_vouches_for_a_field_that_it_did_not_when_it_was_made() -> None:
    before, now = vouched(of_before(GUARDS)), vouched(yaml.safe_load((CHART / GUARDS).read_text()))
    assert now[: len(before)] == before, "what is guarded anew needs a binding of its own in files/guards.yaml"


def test_every_field_that_was_stored_is_still_known_and_of_its_type() -> None:
    version = of_before("crds/trainingbaseline.yaml")["spec"]["versions"][0]
    before = {path: node.get("type") for path, node in walk(version["schema"]["openAPIV3Schema"], "")}
    now = {path: node.get("type") for path, node in walk(schema(), "")}
    told = (ROOT / "CHANGELOG.md").read_text().partition("### Before you upgrade")[2].partition("### Added")[0]
    lost = [path for path in before if path not in now and path.split(".")[-1] not in told]
    assert lost == []
    assert [path for path in before if path in now and before[path] != now[path]] == []


def test_nothing_is_required_or_refused_that_was_not() -> None:
    version = of_before("crds/trainingbaseline.yaml")["spec"]["versions"][0]
    before = dict(walk(version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec"))
    now = dict(walk(schema()["properties"]["spec"], "spec"))
    assert list(_narrower(before, now)) == []


def _narrower(before: Mapping[str, Object], now: Mapping[str, Object]) -> Iterator[str]:
    for path in before.keys() & now.keys():
        if set(now[path].get("required", ())) - set(before[path].get("required", ())):
            yield f"{path}: required"
        if "enum" in now[path] and not set(before[path].get("enum", ())) <= set(now[path]["enum"]):
            yield f"{path}: enum"
        for bound, sign in (("minimum", 1), ("minLength", 1), ("maximum", -1), ("maxLength", -1), ("maxItems", -1)):
            if bound in now[path] and bound in before[path] and sign * (now[path][bound] - before[path][bound]) > 0:
                yield f"{path}: {bound}"
