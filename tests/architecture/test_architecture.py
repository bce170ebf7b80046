"""The shape of the repository: layers, top level, and nothing of the machine it was written on."""

import configparser
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    "pyproject.toml",
    "operator",
    "crds",
    "charts",
    "tests",
    "runbooks",
    "Makefile",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
}
PUBLIC = {"pypi.org", "files.pythonhosted.org", "proxy.golang.org", "sum.golang.org", "registry.npmjs.org", "localhost"}
INDEX_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "GOPROXY", "GOSUMDB")
PIP_FILES = (Path("/etc/pip.conf"), Path.home() / ".pip" / "pip.conf", Path.home() / ".config" / "pip" / "pip.conf")
MACHINE = re.compile(
    "|".join(("/wo" + "rk/", r"\.\./sha" + "red", "/ho" + "me/", "--index-" + "url", "--trusted-" + "host"))
)
"""Put together from halves, so that this file does not name what it forbids."""


def tracked() -> list[Path]:
    """The files that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts() -> Iterator[tuple[Path, str]]:
    """Those of them that are text and ours (data for tests is other people's)."""
    for path in tracked():
        if (ROOT / "tests" / "data") not in path.parents:
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def configured_hosts() -> set[str]:
    """Hosts of the package indexes that this machine is set to."""
    values = [os.environ.get(name, "") for name in INDEX_SETTINGS]
    for path in PIP_FILES:
        parser = configparser.ConfigParser()
        parser.read(path)
        values += [value for section in parser.values() for key, value in section.items() if "url" in key]
    go = subprocess.run(["go", "env", "GOPROXY"], capture_output=True, text=True, check=False) if _has("go") else None
    values.append(go.stdout if go else "")
    hosts = {urlsplit(part).hostname for value in values for part in re.split(r"[\s,|]+", value) if "://" in part}
    return {host for host in hosts if host} - PUBLIC


def _has(program: str) -> bool:
    return any((Path(folder) / program).exists() for folder in os.environ.get("PATH", "").split(os.pathsep))


def test_imports_point_down() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(
        [str(linter), "--no-logo"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_operator_is_a_source_root_and_no_package() -> None:
    """With an __init__.py it would shadow the standard library's module of that name."""
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_the_top_level_is_the_agreed_one() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL


def test_nothing_of_this_machine_is_written_down() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}" for path, text in texts() for match in [MACHINE.search(text)] if match
    ]
    assert found == []


def test_no_private_index_is_named() -> None:
    hosts = configured_hosts()
    found = [str(path.relative_to(ROOT)) for path, text in texts() if any(host in text for host in hosts)]
    assert found == []


def test_every_dependency_has_its_reason_beside_it() -> None:
    for file in (ROOT / "pyproject.toml", ROOT / "operator" / "mfu_probe" / "pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        extras = project.get("optional-dependencies", {}).values()
        dependencies = [*project["dependencies"], *(each for extra in extras for each in extra)]
        written = file.read_text()
        assert [each for each in dependencies if not re.search(rf'"{re.escape(each)}", +# \w', written)] == []


@pytest.mark.parametrize("folder", ["utils", "helpers", "common", "misc"])
def test_no_folder_without_a_subject(folder: str) -> None:
    assert [path for path in tracked() if folder in path.relative_to(ROOT).parts or path.stem == folder] == []
