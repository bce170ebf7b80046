"""A forge as its own API description has it: served by Prism, which judges each request by the description.

Prism and the descriptions come from npm at the versions and digests of tests/contracts/described/package-lock.json,
once, into the cache. Of a description the parts are kept that our adapters ask for, and a body with a property that it
does not name is refused: an optional one that is misspelt would pass unseen.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.cluster.cache import content_key, exclusive
from tests.cluster.state import cache_dir
from tests.support.held_port import held_port

LOCKED = Path(__file__).resolve().parents[1] / "contracts" / "described"
INSTALL_S, START_S = 600.0, 120.0
DESCRIPTIONS = {"github.com": "api.github.com.json", "Enterprise": "ghes-3.19.json"}
ASKED_FOR = (
    "/repos/{owner}/{repo}",
    "/repos/{owner}/{repo}/installation",
    "/repos/{owner}/{repo}/commits/{ref}",
    "/repos/{owner}/{repo}/pulls",
    "/repos/{owner}/{repo}/pulls/{pull_number}",
    "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/{issue_number}/assignees",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/issues/{issue_number}/labels",
    "/app/installations/{installation_id}/access_tokens",
)


def why_not() -> str | None:
    """Why nothing can be served here; None where it can."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"{' and '.join(absent)} is not installed: Prism needs it" if absent else None


def installed() -> Path:
    """The folder with Prism and the descriptions, installed the first time."""
    parts = [file.read_text() for file in (LOCKED / "package.json", LOCKED / "package-lock.json", Path(__file__))]
    folder = cache_dir() / f"described-{content_key(*parts)}"
    with exclusive(folder.with_suffix(".lock")):
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(LOCKED, folder)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
            assert done.returncode == 0, f"npm ci: {done.stderr[-2000:]}"
            packages = folder / "node_modules" / "@octokit"
            for name, file in DESCRIPTIONS.items():
                whole = json.loads((packages / "openapi" / "generated" / file).read_text())
                (folder / f"{name}.json").write_text(json.dumps(part_of(whole)))
            shutil.rmtree(packages)
            (folder / "installed").touch()
    return folder


def part_of(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The description of what is asked for alone, with all that it refers to."""
    paths = {path: whole["paths"][path] for path in ASKED_FOR}
    for path in paths.values():
        for operation in path.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                _close(content["schema"])
    kept: dict[str, dict[str, Any]] = {}
    waiting, known = set(_references(paths)), set[str]()
    while waiting:
        reference = waiting.pop()
        known.add(reference)
        kind, name = reference.removeprefix("#/components/").split("/")
        kept.setdefault(kind, {})[name] = whole["components"][kind][name]
        waiting |= set(_references(kept[kind][name])) - known
    return {"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": kept}


def _close(schema: dict[str, Any]) -> None:
    """Refuse what the schema does not name."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    for each in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("properties", {}).values()):
        _close(each)


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for value in node:
            yield from _references(value)


@dataclass
class Described(httpx.BaseTransport):
    """Sends what is meant for the forge to Prism, which answers with the description's own examples.

    Attributes:
        address: of Prism.
        description: that it serves.
        prefer: the status that is to be answered, where the description has one; None: that of success.
        asked: method and path of what was asked.
        flaws: what the description says against it.
        said: the last comment that was sent, which the list of comments holds from then on.
    """

    address: str
    description: Mapping[str, Any]
    prefer: int | None = None
    asked: list[str] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    said: str | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v3")
        self.asked.append(f"{request.method} {path}")
        headers = {name: request.headers[name] for name in ("accept", "authorization", "content-type")
                   if name in request.headers} | ({"Prefer": f"code={self.prefer}"} if self.prefer else {})  # fmt: skip
        answer = httpx.request(
            request.method, f"{self.address}{path}", params=request.url.params, content=request.read(), headers=headers,
            timeout=START_S, trust_env=False,
        )  # fmt: skip
        self._judge(request, path, answer)
        content = answer.content
        if path.endswith("/comments") and request.method == "POST":
            self.said = json.loads(request.content)["body"]
        elif path.endswith("/comments") and self.said is not None:
            content = json.dumps([{**each, "body": self.said} for each in answer.json()]).encode()
        return httpx.Response(answer.status_code, content=content, headers={"Content-Type": "application/json"})

    def _judge(self, request: httpx.Request, path: str, answer: httpx.Response) -> None:
        """Note what Prism found, and parameters that the description does not name."""
        found = json.loads(answer.headers.get("sl-violations", "[]"))
        self.flaws += [f"{self.asked[-1]}: {each['message']}" for each in found if each["location"][0] == "request"]
        named = _parameters(self.description, path, request.method.lower())
        self.flaws += [f"{self.asked[-1]}: no parameter {name}" for name in request.url.params if name not in named]


def _parameters(description: Mapping[str, Any], path: str, method: str) -> set[str]:
    fitting = (item for known, item in sorted(description["paths"].items(), key=lambda each: each[0].count("{"))
               if re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", known), path))  # fmt: skip
    operation: Mapping[str, Any] = dict(next(fitting, {})).get(method, {})
    listed = (each if "$ref" not in each else description["components"]["parameters"][each["$ref"].rpartition("/")[2]]
              for each in operation.get("parameters", ()))  # fmt: skip
    return {each["name"] for each in listed if each["in"] == "query"}


@contextmanager
def serving(name: str) -> Iterator[Described]:
    """Prism with one of the descriptions."""
    folder = installed()
    file, log = folder / f"{name}.json", folder / f"{name}.log"
    with held_port() as port, log.open("w") as out:
        command = [
            "node",
            str(folder / "node_modules" / ".bin" / "prism"),
            "mock",
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            str(file),
        ]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            _await(process, port, log)
            yield Described(f"http://127.0.0.1:{port}", json.loads(file.read_text()))
        finally:
            process.terminate()
            process.wait(30)


def _await(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    ends_s = time.monotonic() + START_S
    while time.monotonic() < ends_s and process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}/", timeout=5.0, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"Prism did not start: {log.read_text()[-2000:]}")
