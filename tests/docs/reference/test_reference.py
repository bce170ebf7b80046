"""The reference pages are what the definition and the commands say now, and say all of it."""

import re

import click
import pytest

from mfu_operator.cli.main import WORDS
from tests.crds.definition import schema, walk
from tests.docs.reference import cli_page, crd_page

CRD, CLI = crd_page.made(), cli_page.made()
ROWS = re.findall(r"^\| `([^`]+)` \|", CRD, re.MULTILINE)


def test_the_page_of_the_definition_is_made_from_it() -> None:
    assert crd_page.PAGE.read_text() == CRD, "make generate writes it"


def test_the_page_of_the_commands_is_made_from_them() -> None:
    assert cli_page.PAGE.read_text() == CLI, "make generate writes it"


def test_every_field_of_the_definition_is_in_the_page_with_its_meaning() -> None:
    described = [
        str(node["description"]) for path, node in walk(schema(), "") if re.match(r"\.(spec|status)\.\w+$", path)
    ]
    named = {path.split(".")[-1] for path, node in walk(schema(), "") if re.match(r"\.(spec|status)\.", path)}
    shown = {path.split(".")[-1] for path in [*ROWS, *re.findall(r"^## (\S+)$", CRD, re.MULTILINE)]}
    assert {each.removesuffix("[]") for each in named} - shown - {"*"} == set()
    assert [each for each in described if each not in CRD] == []


def test_a_row_says_type_default_and_bounds() -> None:
    assert "| `record.duration` | duration | `30m` |  |" in CRD
    assert "| `record.runs` | integer | `1` | 1 to 20 |" in CRD
    assert "| `mode` | string | `Auto` | one of `Never`, `Auto`, `Off` |" in CRD
    assert "| `draft` " not in CRD and "| `pullRequest.draft` | boolean | `false` |" in CRD
    assert "| `onsetAt` | time |" in CRD


def test_an_object_that_is_used_twice_is_written_once() -> None:
    assert len(re.findall(r"^\| `(profile\.)?account\.meanMilliseconds`", CRD, re.MULTILINE)) == 1
    assert CRD.count("Its fields are those of [status.incident](#statusincident).") == 1


@pytest.mark.parametrize("page", [CRD, CLI], ids=["definition", "commands"])
def test_links_inside_a_page_lead_to_its_headings(page: str) -> None:
    anchors = {crd_page.anchor(heading) for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}
    links = set(re.findall(r"\]\(#([^)]+)\)", page))
    assert links and links <= anchors


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_command_has_its_usage_options_and_an_example(word: str) -> None:
    section = CLI.partition(f"\n## kubectl mfu {word}\n")[2].partition("\n## ")[0]
    options = [each for each in cli_page.command_of(word).params if isinstance(each, click.Option) and not each.hidden]
    assert [each.opts[-1] for each in options if f"{each.opts[-1]}" not in section] == []
    usage, *examples = re.findall(r"```\n(.*?)\n```", section, re.DOTALL)
    assert usage.startswith(f"kubectl mfu {word}")
    assert any(re.search(rf"kubectl[ -]mfu {word}\b", each) for each in examples)
