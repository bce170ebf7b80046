"""A release is the same bytes twice, says how it came about, and is never called signed where it is not."""

import io
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

import mfu_operator
import mfu_probe
from tests.supply.extras.destination import Destination
from tests.supply.release import CHART, MATERIALS, PACKAGES, chart_version, digest, packed, provenance, signed

COMMIT = "1" * 40
COSIGN = '#!/bin/sh\necho "$*" >> "$0.asked"\n'


def test_the_chart_is_packed_to_the_same_bytes_whenever_it_is() -> None:
    once = packed(CHART, 1_700_000_000)
    assert once == packed(CHART, 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(once)) as archive:
        files = {each.name for each in archive.getmembers()}
        assert {each.mtime for each in archive.getmembers()} == {1_700_000_000}
        chart = archive.extractfile("mfu-operator/Chart.yaml")
        assert chart is not None and yaml.safe_load(chart.read())["name"] == "mfu-operator"
    assert {"mfu-operator/values.schema.json", "mfu-operator/templates/_helpers.tpl"} <= files
    assert "mfu-operator/crds/trainingbaseline.yaml" in files


def test_the_chart_names_the_images_of_the_registry_that_they_are_pushed_to() -> None:
    packed_chart = packed(CHART, 1_700_000_000, Destination("registry.example.com/ml"))
    with tarfile.open(fileobj=io.BytesIO(packed_chart)) as archive:
        found = archive.extractfile("mfu-operator/values.yaml")
        assert found is not None
        values = yaml.safe_load(found.read())
    repositories = [values[each]["repository"] for each in ("image", "profilerImage")]
    assert repositories == ["registry.example.com/ml/mfu-operator", "registry.example.com/ml/mfu-profiler"]
    assert values["runbookBaseUrl"] == "", "conditions and alerts name `kubectl mfu runbook`"
    assert packed(CHART, 1_700_000_000, Destination()) == packed(CHART, 1_700_000_000)


def test_the_chart_names_the_runbooks_of_its_release() -> None:
    published = Destination(runbooks="https://git.example/ml/mfu-operator/src/tag/v1/runbooks")
    with tarfile.open(fileobj=io.BytesIO(packed(CHART, 1_700_000_000, published))) as archive:
        found = archive.extractfile("mfu-operator/values.yaml")
        assert found is not None and yaml.safe_load(found.read())["runbookBaseUrl"] == published.runbooks


def test_every_part_has_the_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    versions = {chart_version(), chart["appVersion"], mfu_probe.__version__}
    assert versions == {mfu_operator.__version__}
    projects = [tomllib.loads((each / "pyproject.toml").read_text())["project"] for each in PACKAGES]
    assert [each["name"] for each in projects if "version" in each or each["dynamic"] != ["version"]] == []


def test_the_provenance_names_what_was_made_of_what(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"wheel")
    said = provenance([wheel], COMMIT)
    assert said["subject"] == [{"name": "x.whl", "digest": {"sha256": digest(wheel)}}]
    of = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert of[0]["digest"] == {"gitCommit": COMMIT}
    assert len(of) == 1 + len(MATERIALS) and "file:operator/requirements.lock" in {each["uri"] for each in of}
    assert any(each["uri"].endswith("kustomize/go.sum") for each in of)


def test_without_a_key_it_is_said_that_nothing_is_signed(tmp_path: Path) -> None:
    assert signed([tmp_path / "x"], None) == ["not signed: give a key to cosign with COSIGN_KEY=…"]


def test_with_a_key_and_no_cosign_there_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="nothing is signed"):
        signed([tmp_path / "x"], "cosign.key")


def test_with_both_every_file_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cosign = tmp_path / "cosign"
    cosign.write_text(COSIGN)
    cosign.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    files = [tmp_path / "x", tmp_path / "SHA256SUMS"]
    assert signed(files, "cosign.key") == ["signed 2 files with cosign"]
    asked = Path(f"{cosign}.asked").read_text().splitlines()
    assert asked == [f"sign-blob --yes --key cosign.key --output-signature {each}.sig {each}" for each in files]
