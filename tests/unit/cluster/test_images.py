"""When an image is built again, and what of this machine its build may see."""

from pathlib import Path

import pytest

from tests.cluster.build_environment import pip_configuration, pip_settings, transport_settings
from tests.cluster.images import copied_sources, image_key


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text("FROM localhost/base:1\nCOPY app /app\n")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "train.py").write_text("print(1)\n")
    (tmp_path / "README.md").write_text("read me\n")
    return tmp_path


def _key(context: Path) -> str:
    return image_key(context / "Dockerfile", context, None)


def test_an_image_is_built_again_when_a_copied_file_changes(context: Path) -> None:
    before = _key(context)
    (context / "app" / "train.py").write_text("print(2)\n")
    assert _key(context) != before


def test_an_image_is_built_again_when_a_copied_file_becomes_a_program(context: Path) -> None:
    before = _key(context)
    (context / "app" / "train.py").chmod(0o755)
    assert _key(context) != before


def test_an_image_is_kept_when_a_file_changes_that_is_not_copied(context: Path) -> None:
    before = _key(context)
    (context / "README.md").write_text("read me again\n")
    (context / "app" / "__pycache__").mkdir()
    (context / "app" / "__pycache__" / "train.pyc").write_bytes(b"\0")
    assert _key(context) == before


def test_each_stage_is_an_image_of_its_own(context: Path) -> None:
    assert image_key(context / "Dockerfile", context, "one") != image_key(context / "Dockerfile", context, "two")


def test_what_comes_from_another_stage_is_not_looked_for_in_the_context() -> None:
    dockerfile = """
FROM localhost/base:1
COPY --from=build /venv /venv
COPY --chown=0:0 pyproject.toml \\
     operator /src/
ADD ["a file", "b", "/dst"]
"""
    assert copied_sources(dockerfile) == ["pyproject.toml", "operator", "a file", "b"]


def test_a_build_sees_how_this_machine_reaches_mirrors_and_nothing_else() -> None:
    dump = 'Acquire::http::Proxy "http://proxy.test";\nAcquire::Check-Date "false";\nDPkg::Post-Invoke:: "rm";\n'
    assert transport_settings(dump) == 'Acquire::http::Proxy "http://proxy.test";\nAcquire::Check-Date "false";\n'


def test_pip_in_a_build_follows_the_environment_before_the_file() -> None:
    settings = pip_settings({"PIP_INDEX_URL": "https://env.test"}, {"index-url": "https://file.test", "retries": "9"})
    assert settings["index-url"] == "https://env.test"
    assert settings["retries"] == "9"


def test_a_list_in_the_environment_is_a_list_in_the_file() -> None:
    assert "find-links = /a\n\t/b\n" in pip_configuration({"find-links": "/a /b"})
