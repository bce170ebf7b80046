"""What a stranger's repository holds is bounded, and a bound that was met is never innocence."""

import contextlib
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.adapters.render.program import run
from mfu_operator.cli.main import cli
from mfu_operator.gitops.blame import hunks
from mfu_operator.gitops.changes import changes
from mfu_operator.gitops.manifests import NotStructuredError, leaves
from mfu_operator.gitops.rendered import programs, shell
from mfu_operator.gitops.rendered.reading import UnreadableText, embedded, yaml_documents
from mfu_operator.gitops.sources.tree import NotRenderable
from mfu_operator.model.commit import FileChange
from tests.support.built import built
from tests.support.suspect_story import Story, config_map, job

QUICK_S = 5.0
"""Of a processor, however busy the machine is. Each of these took from 41 s to for ever."""

MERGES = "a: &a {x: 1}\n" + "\n".join(
    f"k{n}: &k{n}\n  <<: [{', '.join([f'*k{n - 1}' if n else '*a'] * 9)}]" for n in range(9)
)
ALIASES = "a0: &a0 [x, x]\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))


@pytest.mark.parametrize(
    "text", [MERGES, ALIASES, "[" * 5000, "{a: " * 400 + "1" + "}" * 400], ids=["merge keys", "aliases", "open", "deep"]
)
def test_a_text_that_grows_when_it_is_read_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(UnreadableText):
        yaml_documents(text)
    assert time.process_time() - began < QUICK_S


@pytest.mark.parametrize(
    "line", ["k:" + " " * 4000 + "x", " " * 4000, "-" * 4000, "a" * 4000 + "=", "key: " + "v ," * 2000, '"' * 4001]
)
@pytest.mark.parametrize("file", ["a.txt", "run.sh", "x.yaml", "x.env", "x.ini"])
def test_one_long_line_is_read_in_no_time(line: str, file: str) -> None:
    began = time.process_time()
    changes(FileChange(file, f"{line}1\n", f"{line}2\n"))
    shell.read(line)
    programs.read(line)
    hunks.hunks(f"{line}1", f"{line}2")
    assert time.process_time() - began < QUICK_S


def test_a_bomb_in_the_manifests_is_said_and_blames_nobody(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map("num_workers: 8\n")})
    story.commit("Bomb", {"gpt/bomb.yaml": MERGES})
    told = story.ask("DataLoaderWorkers", "--path", "gpt")
    assert told.chosen is None
    assert told.verdict("Bomb") == "unknown"
    assert "values once aliases and merge keys are followed" in told.because


def test_a_bomb_inside_a_configmap_is_one_value(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map("num_workers: 8\n")})
    story.commit("Bomb", {"gpt/config.yaml": config_map(MERGES)})
    assert story.ask("DataLoaderWorkers", "--path", "gpt").verdict("Bomb") != "innocent"


@pytest.mark.skipif(not built("helm", "helm"), reason="helm is compiled with the cluster's programs")
def test_a_chart_that_never_ends_meets_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(built("helm", "helm") or "").parent), prepend=":")
    monkeypatch.setattr("mfu_operator.adapters.render.program.CPU_S", 1)
    (tmp_path / "c" / "templates").mkdir(parents=True)
    (tmp_path / "c" / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    loop = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"
    (tmp_path / "c" / "templates" / "a.yaml").write_text(loop)
    with pytest.raises(NotRenderable, match="limit"):
        run("helm", ["template", "x", str(tmp_path / "c")], tmp_path)


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["--good", "nowhere", "--bad", "HEAD", "--workload", "Job/gpt", "--cause", "SlowLink"], 3, "RevisionUnknown"),
    (["--good", "HEAD", "--bad", "HEAD", "--workload", "gpt", "--cause", "SlowLink"], 2, "KIND/NAME"),
    (["--good", "HEAD", "--bad", "HEAD", "--workload", "Job/gpt", "--cause", "Slowness"], 2, "DataLoaderWorkers"),
    (["--good", "HEAD", "--bad", "HEAD", "--workload", "Job/gpt"], 2, "--cause"),
    (["--good=--all", "--bad", "HEAD", "--workload", "Job/gpt", "--cause", "SlowLink"], 3, "RevisionUnknown"),
])  # fmt: skip
def test_exit_codes_tell_wrong_usage_from_what_cannot_be_read(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"job.yaml": job()})
    result = CliRunner().invoke(cli, ["suspects", "--repo", str(story.repo), *arguments])
    assert result.exit_code == code, result.output
    assert said in result.output


def test_no_repository_is_exit_three(tmp_path: Path) -> None:
    arguments = ["--good", "a", "--bad", "b", "--workload", "Job/gpt", "--cause", "SlowLink"]
    result = CliRunner().invoke(cli, ["suspects", "--repo", str(tmp_path), *arguments])
    assert (result.exit_code, "RepositoryUnreadable" in result.output) == (3, True)


def test_the_text_tells_a_person_the_same(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map("num_workers: 8\n")})
    sha = story.replace("Workers \x1b[31m", "gpt/config.yaml", "8", "0")
    arguments = ["--path", "gpt", "--workload", "Job/gpt", "--cause", "DataLoaderWorkers", "--bad", "main"]
    result = CliRunner().invoke(cli, ["suspects", "--repo", str(story.repo), "--good", story.shas["Good"], *arguments])
    assert result.exit_code == 0
    assert f"→ {sha[:12]}  suspected" in result.output
    assert 'data["train.yaml"].num_workers: 8 → 0' in result.output
    assert "proposal  Revert on main" in result.output
    assert "\x1b" not in result.output


@pytest.mark.parametrize("text", ["!!int ''", "!!bool x", "!!float ''", "a: !!int x", "!!timestamp x", "!!binary é"])
def test_a_value_that_is_not_what_its_tag_says_is_no_yaml(text: str) -> None:
    with contextlib.suppress(UnreadableText):
        yaml_documents(text)
    with contextlib.suppress(NotStructuredError):
        leaves("a.yaml", text)


def test_settings_whose_line_goes_on_without_a_value_are_none() -> None:
    with pytest.raises(NotStructuredError):
        leaves("a.cfg", "a\n a")
    assert embedded("a.ini", "a\n a") is None
