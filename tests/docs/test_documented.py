"""What a person can meet is written down where they would look for it: nothing of it is missing, no link is broken."""

import re
from pathlib import Path
from typing import Any

import click
import pytest

from mfu_operator.adapters.metric_names import KINDS, profiles
from mfu_operator.cli.main import WORDS, cli
from mfu_operator.cli.reasons import Reason, reasons
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.verdict import Gate, Verdict
from mfu_operator.model.vitals import Ailment
from mfu_operator.reconcile.symptoms import CONDITIONS
from mfu_operator.trace.diagnosis.causes import CAUSES
from mfu_operator.trace.diagnosis.opportunities import GAINS
from tests.charts.test_chart import exported
from tests.docs import facts_page, reasons_page
from tests.docs.picture import PICTURE, made
from tests.docs.reasons import event_reasons, given_reasons, observed_causes

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "runbooks"
INDEX = (RUNBOOKS / "README.md").read_text()
README = (ROOT / "README.md").read_text()
CHART_README = (ROOT / "charts" / "mfu-operator" / "README.md").read_text()
PROBE = ROOT / "operator" / "mfu_probe"
PROBE_README = (PROBE / "README.md").read_text()
PAGES = sorted(RUNBOOKS.rglob("*.md"))
TABLE = reasons()
REASONS = given_reasons()
BOTTLENECKS = list(Bottleneck)
SECTIONS = (
    "What it means",
    "How sure",
    "Check by hand",
    "Fix, cheapest first",
    "Say no",
    "What the operator does next",
)
PROGRAMS = "kubectl nvidia-smi dcgmi ibstat ibv_devinfo py-spy all_reduce_perf nsys git openssl helm dmesg ls head grep"
TOPICS = {"TraceUnreadable", "BaselineUnsteady", "JobNotReplaced", "LossSustained", "Regressed"}
"""Rows for what is said in other ways than by a reason written out."""


def kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_a_reason_is_in_the_table(reason: str) -> None:
    assert reason in TABLE.reasons, f"{REASONS[reason]} gives it"


def test_no_row_is_about_a_reason_that_nothing_gives() -> None:
    assert TABLE.reasons.keys() - REASONS.keys() - TOPICS - {str(each) for each in (*Bottleneck, *Ailment)} == set()


def test_each_row_says_what_to_do_and_leads_to_a_page() -> None:
    def whole(row: Reason) -> bool:
        page = (RUNBOOKS / f"{row.page}.md").is_file()
        return page and bool(row.where and row.remedy) and row.meaning.endswith(".") and row.then in TABLE.next

    assert [row.name for row in TABLE.reasons.values() if not whole(row)] == []


def test_the_table_and_each_page_s_line_are_made_from_the_reasons() -> None:
    assert reasons_page.PAGE.read_text() == reasons_page.made(), "python -m tests.docs.reasons_page writes it"
    assert [page.name for page in reasons_page.pages() if page.read_text() != reasons_page.with_line(page)] == []


def test_there_are_about_thirty_pages_and_each_is_somebody_s() -> None:
    named = {each.page for each in TABLE.reasons.values()} | set(TABLE.alerts.values())
    assert {page.stem for page in reasons_page.pages()} == named
    assert len(named) <= 36


@pytest.mark.parametrize("ailment", Ailment)
def test_a_symptom_is_in_the_table_and_its_condition_is_explained(ailment: Ailment) -> None:
    assert CONDITIONS[ailment] in TABLE.reasons[ailment].where
    assert f"| {CONDITIONS[ailment]} | while True |" in INDEX


@pytest.mark.parametrize("bottleneck", BOTTLENECKS)
def test_a_bottleneck_has_a_page_with_its_causes(bottleneck: Bottleneck) -> None:
    page = (RUNBOOKS / f"{kebab(bottleneck)}.md").read_text()
    assert page.startswith(f"# {bottleneck}\n")
    for cause in CAUSES:
        if cause.bottleneck is bottleneck:
            assert f"### {cause.name}\n" in page, f"a section for the cause {cause.name}"


def test_what_a_trace_without_a_baseline_offers_has_a_section_too() -> None:
    for gain in GAINS:
        assert f"### {gain.cause}\n" in (RUNBOOKS / f"{kebab(gain.bottleneck)}.md").read_text(), gain.cause


def test_a_cause_that_no_trace_tells_has_a_section_too() -> None:
    found = observed_causes()
    assert {"HardwareDegraded"} == found.keys()
    for bottleneck, names in found.items():
        page = (RUNBOOKS / f"{kebab(bottleneck)}.md").read_text()
        assert [name for name in sorted(names) if f"### {name}\n" not in page] == []


def test_the_index_names_every_cause() -> None:
    for page in (RUNBOOKS / f"{kebab(each)}.md" for each in BOTTLENECKS):
        for cause in re.findall(r"^### (\w+)$", page.read_text(), re.MULTILINE):
            assert re.search(rf"\]\({page.name}\).*\b{cause}\b", INDEX), f"{cause} in the index"


@pytest.mark.parametrize("page", reasons_page.pages(), ids=lambda page: page.stem)
def test_a_page_answers_the_six_questions_and_is_in_the_index(page: Path) -> None:
    text = page.read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)
    assert f"]({page.relative_to(RUNBOOKS)})" in INDEX


@pytest.mark.parametrize("page", reasons_page.pages(), ids=lambda page: page.stem)
def test_a_page_s_checks_are_commands_that_exist(page: Path) -> None:
    checks = page.read_text().split("## Check by hand")[1].split("## ")[0]
    lines = [line for block in re.findall(r"```\n(.*?)```", checks, re.DOTALL) for line in block.splitlines() if line]
    assert lines
    assert [line for line in lines if line[0] != "#" and line.split()[0].rstrip(";") not in PROGRAMS.split()] == []


def test_verdicts_gates_and_events_are_explained() -> None:
    pages = "\n".join(page.read_text() for page in PAGES)
    definition = (ROOT / "crds" / "trainingbaseline.yaml").read_text()
    assert [word for word in (*Verdict, *Gate) if word not in pages + definition] == []
    assert [event for event in sorted(event_reasons() - TABLE.reasons.keys()) if event not in INDEX] == []


def test_the_operator_s_metrics_are_documented() -> None:
    names = {name for name in exported() if not name.endswith("_bucket")}
    assert [name for name in sorted(names) if f"`{name}`" not in CHART_README] == []


def test_the_probe_s_metrics_are_documented() -> None:
    names = set(re.findall(r'"(mfu_probe_\w+)"', (PROBE / "metrics.py").read_text()))
    assert names
    assert [name for name in sorted(names) if name not in PROBE_README] == []


@pytest.mark.parametrize("page", [README, PROBE_README], ids=["the project's", "the probe's"])
def test_the_lines_for_a_training_loop_are_five_at_most_and_run_as_they_stand(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MFU_PROBE_PORT", "0")
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found is not None
    assert len([line for line in found[1].splitlines() if line]) <= 5
    trained: list[int] = []
    script: dict[str, Any] = {"parameters": 25e6, "tokens": 384, "loader": [1, 2, 3], "train_step": trained.append}
    exec(found[1], script)
    with script["probe"] as probe:
        assert (trained, probe.completed_steps) == ([1, 2, 3], 3)


def test_settings_are_documented() -> None:
    source = (ROOT / "operator" / "mfu_operator" / "settings.py").read_text()
    names = set(re.findall(r'"(MFU_[A-Z_]+)"', source))
    assert names
    assert [name for name in sorted(names) if f"`{name}`" not in CHART_README] == []


def test_the_probe_s_settings_are_documented() -> None:
    names = {name for path in PROBE.glob("*.py") for name in re.findall(r'"(MFU_PROBE_[A-Z_]+)"', path.read_text())}
    assert names
    assert [name for name in sorted(names) if name not in PROBE_README] == []


@pytest.mark.parametrize("command", sorted(WORDS))
def test_a_command_is_documented(command: str) -> None:
    assert f"kubectl mfu {command}" in README
    described = cli.get_command(click.Context(cli), command)
    assert described is not None
    assert described.help
    options = [option for option in described.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help and not option.hidden] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_documented_command_exists(page: Path) -> None:
    named = set(re.findall(r"(?:^|`)kubectl mfu ([a-z]+)", page.read_text(), re.MULTILINE))
    assert named - set(WORDS) == set()


def test_a_documented_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|[`(])make ([a-z0-9-]+)", README, re.MULTILINE))
    assert {"demo", "demo-down", "test"} <= named <= targets


def test_the_command_line_s_own_help_names_every_command_and_no_other() -> None:
    assert set(re.findall(r"kubectl mfu ([a-z]+)", cli.help or "")) == set(WORDS)


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "charts" / "mfu-operator" / "README.md",
        PROBE / "README.md",
        ROOT / "operator" / "METRICS.md",
        *PAGES,
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#([^)]*))?\)", page.read_text())
    local = [(link, anchor) for link, anchor in links if "://" not in link]
    assert [link for link, _ in local if not (page.parent / link).exists()] == []
    rows = {each.anchor for each in TABLE.reasons.values()}
    assert {anchor for link, anchor in local if link.endswith("reasons.md") and anchor} <= rows


def test_every_metric_profile_is_documented_with_what_carries_it_and_its_sources() -> None:
    page = (ROOT / "operator" / "METRICS.md").read_text()
    assert [name for name in profiles() if f"| `{name}` |" not in page] == []
    assert [name for name, each in profiles().items() if not (each.about and each.install and each.sources)] == []


def test_every_kind_of_metric_is_documented() -> None:
    page = (ROOT / "operator" / "METRICS.md").read_text()
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []


def test_the_page_of_facts_is_made_from_the_table() -> None:
    assert facts_page.PAGE.read_text() == facts_page.made(), "python -m tests.docs.facts_page writes it"


def test_the_picture_of_a_replay_is_what_the_command_draws() -> None:
    assert PICTURE.read_text() == made(), "python -m tests.docs.picture writes it"
    assert f"]({PICTURE.relative_to(ROOT)})" in README
