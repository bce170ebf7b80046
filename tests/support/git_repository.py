"""A real Git repository on disk, and a person who works in it."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class GitUpstream:
    """A bare repository `models.git` in `folder` and a person's working copy of its branch main."""

    def __init__(self, folder: Path) -> None:
        self.bare = folder / "models.git"
        self.work = folder / "work"
        self._clock = 1_700_000_000
        self._env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare), folder=folder)
        self.git("clone", "--quiet", str(self.bare), str(self.work), folder=folder)
        self.git("config", "http.receivepack", "true", folder=self.bare)
        self.git("config", "uploadpack.allowFilter", "true", folder=self.bare)
        self.git("checkout", "--quiet", "-b", "main")

    def commit(self, files: Mapping[str, str | None], subject: str) -> str:
        """Write (None: delete) files, commit and push."""
        for path, text in files.items():
            file = self.work / path
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.push()

    def set_clock_back(self, by_s: int) -> None:
        """From now on commits are told to be made by so much earlier."""
        self._clock -= by_s

    def push(self, *options: str) -> str:
        self.git("push", "--quiet", *options, "origin", "HEAD")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        return self._run("Pat Person", "pat@example.invalid", arguments, folder or self.work)

    def git_as_operator(self, *arguments: str) -> str:
        """As somebody who leaves the operator's name and address on what he changes."""
        return self._run("mfu-operator", "mfu-operator@noreply.invalid", arguments, self.work)

    def _run(self, name: str, email: str, arguments: tuple[str, ...], folder: Path) -> str:
        self._clock += 60
        person = {"NAME": name, "EMAIL": email, "DATE": f"{self._clock} +0000"}
        env = self._env | {
            f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()
        }
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()
