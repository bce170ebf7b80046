"""Histories for `kubectl mfu suspects`: a repository, commits by what they are called, and the command's own answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner

from mfu_operator.cli.main import cli
from tests.support.git_repository import GitUpstream

Files = Mapping[str, str | None]
SCHEMA = json.loads(
    resources.files("mfu_operator.gitops").joinpath("schema/suspects-v1.schema.json").read_text("utf-8")
)


@dataclass(slots=True)
class Story:
    """A history under way; `shas` are the commits by their subject."""

    folder: Path
    upstream: GitUpstream = field(init=False)
    shas: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.upstream = GitUpstream(self.folder)

    @property
    def repo(self) -> Path:
        """The person's clone."""
        return self.upstream.work

    def commit(self, subject: str, files: Files) -> str:
        """Commit files (None: delete one) under a subject."""
        self.shas[subject] = self.upstream.commit(files, subject)
        return self.shas[subject]

    def replace(self, subject: str, path: str, old: str, new: str) -> str:
        """Commit one text in the place of another one in a file, which must hold it."""
        text = (self.repo / path).read_text()
        assert old in text, f"{path} does not hold {old}"
        return self.commit(subject, {path: text.replace(old, new)})

    def move(self, subject: str, old: str, new: str) -> str:
        """Commit a file's move."""
        return self.commit(subject, {new: (self.repo / old).read_text(), old: None})

    def ask(
        self, cause: str, *options: str, good: str = "Good", bad: str | None = None, workload: str = "Job/gpt"
    ) -> "Told":
        """What the command answers; `good` and `bad` are subjects, bad the last commit where it is not named."""
        last = self.shas[bad] if bad else self.upstream.git("rev-parse", "HEAD")
        arguments = ["suspects", "--repo", str(self.repo), "--good", self.shas[good], "--bad", last,
                     "--workload", workload, "--cause", cause, "-o", "json", *options]  # fmt: skip
        return Told(run(arguments), {sha: subject for subject, sha in self.shas.items()})


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """The command's JSON; the test fails with its words where it does not answer."""
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, f"exit {result.exit_code}: {result.output}"
    answer: dict[str, Any] = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(answer)
    return answer


@dataclass(slots=True)
class Told:
    """An answer, commits by their subject."""

    json: dict[str, Any]
    subjects: Mapping[str, str]

    @property
    def chosen(self) -> str | None:
        """The subject of the commit that is blamed."""
        sha = self.json["chosen"]
        return None if sha is None else self.subjects[sha]

    @property
    def because(self) -> str:
        """The sentence."""
        return str(self.json["because"])

    def verdict(self, subject: str) -> str:
        """A commit's verdict."""
        return str(self.suspect(subject)["verdict"])

    def suspect(self, subject: str) -> dict[str, Any]:
        """A commit's row."""
        rows = [each for each in self.json["suspects"] if self.subjects.get(each["sha"]) == subject]
        assert rows, f"{subject} is not in the window"
        row: dict[str, Any] = rows[0]
        return row

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Good → bad by `object field`."""
        return {
            f"{row['object']} {row['field']}": (row["before"], row["after"]) for row in self.json["rendered"]["changed"]
        }


def job(name: str = "gpt", args: Sequence[str] = (), config: str = "gpt-config", image: str = "registry.example/gpt:v1",
        **more: str) -> str:  # fmt: skip
    """A Job that mounts a ConfigMap; `env` and `resources` are JSON texts."""
    words = json.dumps(["train.py", "--config=/etc/gpt/train.yaml", *args])
    return f"""apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  backoffLimit: 2
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          image: {image}
          command: [python]
          args: {words}
          env: {more.get("env", "[]")}
          resources: {more.get("resources", '{"limits": {"nvidia.com/gpu": "8"}}')}
          volumeMounts:
            - {{name: config, mountPath: /etc/gpt}}
      volumes:
        - name: config
          configMap: {{name: {config}}}
"""


def config_map(text: str, name: str = "gpt-config", file: str = "train.yaml") -> str:
    """A ConfigMap with one file."""
    indented = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  {file}: |\n{indented}\n"


__all__ = ["Story", "Told", "config_map", "job", "run"]
