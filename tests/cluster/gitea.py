"""Gitea: the Git server that holds the configuration repository and its pull requests."""

import base64
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.cluster.go_modules import module_folder
from tests.cluster.layout import HOST_ADDRESS
from tests.cluster.process import Process, await_condition, output_of, write_atomically
from tests.cluster.toolchain import go_binaries

OWNER = "platform"
BOT = "mfu-bot"

_MODULE = "code.gitea.io/gitea"
_PORT = 13000
_REQUEST_TIMEOUT_S = 30.0
_MERGEABLE_TIMEOUT_S = 120.0
_SECRET_SETTINGS = ("secret_key", "internal_token", "jwt_secret")


class GiteaError(RuntimeError):
    """Gitea answered a request with an error; the message holds what it said."""


class Gitea:
    """One Gitea with SQLite on one address, a person (the owner of all repositories) and a bot.

    Attributes:
        url: Where it serves its pages, its API and Git over HTTP; the same address for host and pods.
    """

    name = "gitea"

    def __init__(self, state: Path, *, host_address: str = HOST_ADDRESS, port: int = _PORT) -> None:
        """Describe Gitea; data, secrets and log stand below ``state``."""
        self.url = f"http://{host_address}:{port}"
        self._host_address = host_address
        self._port = port
        self._folder = state / self.name
        self._secrets = self._folder / "secrets"
        self._settings = self._folder / "app.ini"
        self._state = state

    def start(self) -> None:
        """Write the settings and start Gitea, compiling it first where that was not done yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._secrets.mkdir(exist_ok=True)
        for name in _SECRET_SETTINGS:
            self._ensure_secret(name)
        write_atomically(self._settings, self._settings_text())
        self._process().start()

    def ready(self) -> None:
        """Wait until Gitea serves and both of its users have a token."""
        self._process().await_ready("Gitea", self._serves, timeout_s=180)
        self._ensure_person()
        self.ensure_user_with_token(BOT)

    def stop(self) -> None:
        """Stop Gitea."""
        Process(self.name, [], state=self._state).stop()

    @property
    def owner_token(self) -> str:
        """The API token of the person: may do everything."""
        return self._stored_token(OWNER)

    @property
    def bot_token(self) -> str:
        """The API token of :data:`BOT`, which is also its password for Git over HTTP."""
        return self._stored_token(BOT)

    def api(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        token: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Any:
        """Call Gitea's API and return its decoded answer, or None where it is empty.

        Args:
            method: The HTTP method.
            path: What follows ``/api/v1/``.
            json: The body, if any.
            token: Whose request it is; the owner's where None.
            parameters: The query.

        Raises:
            GiteaError: The answer is an error.
        """
        answer = self._request(method, path, json, token or self.owner_token, parameters)
        if answer.is_error:
            raise GiteaError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

    def ensure_user_with_token(self, user: str) -> str:
        """Return the token of a bot user, making the user and the token where they are missing."""
        if not self._token_file(user).exists():
            if not self._exists(f"users/{user}"):
                names = [f"--username={user}", f"--email={_email(user)}"]
                self._command("admin", "user", "create", "--user-type=bot", *names)
            self._command("admin", "user", "must-change-password", "--unset", user)
            self._make_token(user)
        return self._stored_token(user)

    def ensure_repository(self, repository: str, private: bool = True) -> str:
        """Return the clone URL of one of the owner's repositories, making it where it is missing.

        A new one has a first commit on its branch ``main``; the bot may push to it.
        """
        if not self._exists(f"repos/{OWNER}/{repository}"):
            wanted = {"name": repository, "private": private, "auto_init": True, "default_branch": "main"}
            self.api("POST", "user/repos", wanted)
        self.ensure_collaborator(repository, BOT, "write")
        return self.clone_url(repository)

    def ensure_collaborator(self, repository: str, user: str, permission: str = "read") -> None:
        """Give a user the permission ``read``, ``write`` or ``admin`` on a repository."""
        self.api("PUT", f"repos/{OWNER}/{repository}/collaborators/{user}", {"permission": permission})

    def delete_repository(self, repository: str) -> None:
        """Delete one of the owner's repositories; does nothing where there is none."""
        if self._exists(f"repos/{OWNER}/{repository}"):
            self.api("DELETE", f"repos/{OWNER}/{repository}")

    def clone_url(self, repository: str) -> str:
        """Return the URL of a repository, without credentials."""
        return f"{self.url}/{OWNER}/{repository}.git"

    def commit(self, repository: str, message: str, files: Mapping[str, str | None], *, author: str = OWNER) -> str:
        """Commit files to the branch ``main`` in one commit and return its SHA.

        Args:
            repository: One of the owner's repositories.
            message: The commit message.
            files: The new text by path; None deletes the file.
            author: Whose name the commit carries.
        """
        person = {"name": author, "email": _email(author)}
        wanted = {
            "branch": "main",
            "message": message,
            "author": person,
            "committer": person,
            "files": [self._file_change(repository, path, text) for path, text in files.items()],
        }
        return str(self.api("POST", f"repos/{OWNER}/{repository}/contents", wanted)["commit"]["sha"])

    def push(self, repository: str, commits: Sequence[tuple[str, Mapping[str, str]]]) -> list[str]:
        """Put commits (message, new text by path) on the branch ``main`` by one push; their SHAs, oldest first."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            git = partial(self._git, folder=Path(folder))
            git("clone", "--quiet", "--depth=1", self.clone_url(repository), folder)
            made = [self._committed(git, Path(folder), message, files) for message, files in commits]
            git("push", "--quiet", "origin", "HEAD:main")
        return made

    def head(self, repository: str, branch: str = "main") -> str:
        """Return the SHA of the newest commit of a branch."""
        return str(self.api("GET", f"repos/{OWNER}/{repository}/branches/{branch}")["commit"]["id"])

    def pull_requests(self, repository: str, state: str = "all") -> list[dict[str, Any]]:
        """Return a repository's pull requests that are ``open``, ``closed`` or either (``all``), newest first."""
        found: list[dict[str, Any]] = self.api(
            "GET", f"repos/{OWNER}/{repository}/pulls", parameters={"state": state, "sort": "newest", "limit": "50"}
        )
        return found

    def comments(self, repository: str, number: int) -> list[str]:
        """Return the texts of a pull request's comments, oldest first."""
        found: list[dict[str, Any]] = self.api("GET", f"repos/{OWNER}/{repository}/issues/{number}/comments")
        return [str(each["body"]) for each in found]

    def merge(self, repository: str, number: int) -> str:
        """Merge a pull request as the owner and return the merge commit; one that is merged already stays as it is."""
        path = f"repos/{OWNER}/{repository}/pulls/{number}"
        if not self.api("GET", path)["merged"]:
            await_condition(
                f"Gitea's finding that pull request {number} can be merged",
                lambda: bool(self.api("GET", path)["mergeable"]),
                _MERGEABLE_TIMEOUT_S,
            )
            self.api("POST", f"{path}/merge", {"Do": "merge"})
        return str(self.api("GET", path)["merge_commit_sha"])

    def _committed(self, git: Callable[..., str], folder: Path, message: str, files: Mapping[str, str]) -> str:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git("add", "--all")
        git("commit", "--quiet", f"--message={message}")
        return git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str, folder: Path) -> str:
        """Run git as the owner, whose token goes by the environment: an argument could be read by everybody."""
        names = {"NAME": OWNER, "EMAIL": _email(OWNER)}
        person = {f"GIT_{role}_{key}": name for role in ("AUTHOR", "COMMITTER") for key, name in names.items()}
        header = {"KEY": "http.extraHeader", "VALUE": f"Authorization: token {self.owner_token}"}
        settings = {"GIT_CONFIG_COUNT": "1", **{f"GIT_CONFIG_{key}_0": value for key, value in header.items()}}
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "no_proxy": "*"}
        return output_of(["git", *arguments], env=self._environment() | person | settings | nobody, cwd=folder)

    def _file_change(self, repository: str, path: str, text: str | None) -> dict[str, str]:
        if text is None:
            known = self.api("GET", f"repos/{OWNER}/{repository}/contents/{path}", parameters={"ref": "main"})
            return {"operation": "delete", "path": path, "sha": known["sha"]}
        return {"operation": "upload", "path": path, "content": base64.b64encode(text.encode()).decode()}

    def _process(self) -> Process:
        return Process(self.name, [*self._program(), "web"], state=self._state, env=self._environment())

    def _program(self) -> list[str]:
        program = go_binaries("gitea") / "gitea"
        return [str(program), "--config", str(self._settings), "--work-path", str(self._folder)]

    def _command(self, *arguments: str) -> str:
        return output_of([*self._program(), *arguments], env=self._environment())

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self._folder),
            "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true",
        }

    def _settings_text(self) -> str:
        sections: dict[str, dict[str, object]] = {
            "server": {
                "HTTP_ADDR": self._host_address,
                "HTTP_PORT": self._port,
                "ROOT_URL": f"{self.url}/",
                "STATIC_ROOT_PATH": module_folder("gitea", _MODULE),
                "DISABLE_SSH": "true",
                "OFFLINE_MODE": "true",
            },
            "database": {
                "DB_TYPE": "sqlite3",
                "PATH": self._folder / "gitea.db",
                "SQLITE_JOURNAL_MODE": "WAL",
                "SQLITE_TIMEOUT": 20_000,
            },
            "security": {
                "INSTALL_LOCK": "true",
                "SECRET_KEY_URI": f"file:{self._secrets / 'secret_key'}",
                "INTERNAL_TOKEN_URI": f"file:{self._secrets / 'internal_token'}",
            },
            "repository.signing": {"SIGNING_KEY": "none"},
            "service": {"DISABLE_REGISTRATION": "true"},
            "oauth2": {"ENABLED": "false", "JWT_SECRET_URI": f"file:{self._secrets / 'jwt_secret'}"},
            "actions": {"ENABLED": "false"},
            "packages": {"ENABLED": "true"},
            "mailer": {"ENABLED": "false"},
            "indexer": {"ISSUE_INDEXER_TYPE": "db"},
            "log": {"LEVEL": "Warn"},
        }
        return "\n".join(_section(name, values) for name, values in sections.items())

    def _serves(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/healthz", trust_env=False, timeout=_REQUEST_TIMEOUT_S).is_success
        except httpx.TransportError:
            return False

    def _request(
        self, method: str, path: str, json: object, token: str, parameters: Mapping[str, str] | None = None
    ) -> httpx.Response:
        return httpx.request(
            method,
            f"{self.url}/api/v1/{path}",
            json=json,
            params=parameters,
            headers={"Authorization": f"token {token}"},
            trust_env=False,
            timeout=_REQUEST_TIMEOUT_S,
        )

    def _exists(self, path: str) -> bool:
        answer = self._request("GET", path, None, self.owner_token)
        if answer.is_error and answer.status_code != httpx.codes.NOT_FOUND:
            raise GiteaError(f"GET {path}: {answer.status_code} {answer.text[:500]}")
        return answer.is_success

    def _ensure_person(self) -> None:
        if not self._token_file(OWNER).exists():
            if not self._person_exists():
                names = [f"--username={OWNER}", f"--email={_email(OWNER)}"]
                self._command("admin", "user", "create", "--admin", "--random-password", *names)
            self._make_token(OWNER)
        if not self._password_file.exists():
            self._set_password()

    def _set_password(self) -> None:
        """Give the person a password that we know, by a request: the command takes it as an argument only."""
        password = secrets.token_urlsafe(18)
        wanted = {"login_name": OWNER, "source_id": 0, "password": password, "must_change_password": False}
        self.api("PATCH", f"admin/users/{OWNER}", wanted)
        write_atomically(self._password_file, password)

    def _person_exists(self) -> bool:
        """Tell whether the owner is among the persons, who alone are listed (a bot is none); needs no token."""
        lines = self._command("admin", "user", "list").splitlines()
        return any(OWNER in line.split()[1:2] for line in lines)

    def _make_token(self, user: str) -> None:
        token_name = f"--token-name=mfu-{secrets.token_hex(4)}"
        made = self._command(
            "admin", "user", "generate-access-token", "--raw", "--scopes=all", token_name, f"--username={user}"
        )
        write_atomically(self._token_file(user), printed_token(made))

    @property
    def _password_file(self) -> Path:
        return self._secrets / f"{OWNER}-password"

    def _token_file(self, user: str) -> Path:
        return self._secrets / f"{user}-token"

    def _stored_token(self, user: str) -> str:
        return self._token_file(user).read_text()

    def _ensure_secret(self, name: str) -> None:
        if not (self._secrets / name).exists():
            write_atomically(self._secrets / name, secrets.token_urlsafe(32))


def _email(user: str) -> str:
    return f"{user}@example.invalid"


def _section(name: str, values: Mapping[str, object]) -> str:
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in values.items()), ""])


def printed_token(said: str) -> str:
    """Return the token among what Gitea's command printed; its warnings come before or after it.

    Raises:
        GiteaError: It printed none.
    """
    found = re.findall(r"^[0-9a-f]{40}$", said, re.MULTILINE)
    if len(found) != 1:
        raise GiteaError("the command that makes a token printed none")
    return str(found[0])
