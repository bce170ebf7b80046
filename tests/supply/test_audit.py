"""A package with a known weakness does not pass `make lint`."""

import tomllib
from datetime import date
from pathlib import Path

import pytest

from tests.supply.audit import LOCKS, ROOT, Advisory, as_of, pins, read_database, stored, weak

OSV = """
id: PYSEC-2099-1
affected:
- package: {ecosystem: PyPI, name: gitpython}
  ranges:
  - type: GIT
    events: [{introduced: "0"}, {fixed: ef3192cc}]
  - type: ECOSYSTEM
    events: [{introduced: "0"}, {fixed: 1.2}, {introduced: 2.0.0}, {fixed: 2.0.3}, {introduced: "3"}]
"""


def test_no_lock_file_holds_a_known_weakness() -> None:
    assert weak(LOCKS, stored()) == []


def test_the_list_says_of_which_day_it_is() -> None:
    assert date.fromisoformat(as_of()) >= date(2026, 11, 22)


def test_a_pin_that_has_one_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("GitPython==3.1.40 \\\n    --hash=sha256:00\npyyaml==6.0.3 ; python_version > '3'\n")
    assert weak([lock], stored()) == ["requirements.lock: gitpython 3.1.40 has PYSEC-2024-4, which 3.1.41 mends"]


def test_every_pin_of_every_lock_file_is_compared() -> None:
    for lock in LOCKS:
        found = dict(pins(lock))
        assert len(found) == lock.read_text().count("==") > 0
    assert {"gitpython", "pyjwt", "cryptography"} <= dict(pins(LOCKS[0])).keys()


def test_what_most_harms_is_known_of() -> None:
    known = {each.package for each in stored()}
    assert {"gitpython", "pyyaml", "urllib3", "requests", "cryptography", "pyjwt", "h11", "idna"} <= known


@pytest.mark.parametrize(
    ("version", "concerned"), [("1.0", True), ("1.2", False), ("2.0.2", True), ("2.0.3", False), ("3.1", True)]
)
def test_the_database_is_read_by_spans_of_versions(version: str, concerned: bool, tmp_path: Path) -> None:
    folder = tmp_path / "vulns" / "gitpython"
    folder.mkdir(parents=True)
    (folder / "PYSEC-2099-1.yaml").write_text(OSV)
    (folder / "PYSEC-2099-2.yaml").write_text(OSV.replace("2099-1", "2099-2") + 'withdrawn: "2099-01-01T00:00:00Z"\n')
    found = list(read_database(tmp_path, ["gitpython", "absent"]))
    assert {each.id for each in found} == {"PYSEC-2099-1"}
    assert any(each.concerns(version) for each in found) is concerned


def test_a_weakness_that_nobody_mended_concerns_every_version() -> None:
    assert Advisory("x", "PYSEC-2099-3", "0", "").concerns("999")


def test_ruff_asks_all_security_rules_of_the_operator_but_two() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert [each for each in lint["ignore"] if each.startswith("S")] == ["S101", "S603"]
    elsewhere = {
        place: [rule for rule in rules if rule.startswith("S")] for place, rules in lint["per-file-ignores"].items()
    }
    assert {place for place, rules in elsewhere.items() if rules} == {
        "tests/**",
        "operator/mfu_operator/trace/read/nsys/**",
    }
