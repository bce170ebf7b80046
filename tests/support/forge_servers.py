"""HTTP answers of the five forges in the shapes of their own API descriptions, for httpx.MockTransport."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import httpx

TOKEN = "right-token"
REPOSITORY = "team/models"
_LABEL = {"id": 7, "name": "mfu-operator"}
MESSAGE = "Revert 1a2b3c4\n\nMfu-Operator-Suspect: 1a2b3c4\n"
_AT = "2026-11-21T06:30:00Z"


PEOPLE = {"rev": 51, "pat": 52}
"""Who may be asked, by name."""

OPERATOR, STRANGER = 41, 42
"""Accounts: who opens the pull requests, and somebody else."""


@dataclass
class Said:
    """A comment as a server keeps it."""

    id: int
    text: str
    author: int = OPERATOR


@dataclass
class Pull:
    """A pull request as a server keeps it."""

    number: int
    branch: str
    base: str
    title: str
    body: str
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    comments: list[Said] = field(default_factory=list)
    draft: bool = False
    reviewers: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)

    @property
    def merge_sha(self) -> str | None:
        return f"{self.number:039x}e" if self.state == "merged" else None


@dataclass
class Server:
    """One forge with one repository, its default branch `main`."""

    pulls: list[Pull] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if TOKEN not in self.token(request):
            return self.error(401, "Unauthorized")
        for method, pattern, answer in self.routes():
            found = re.fullmatch(pattern, unquote(request.url.raw_path.decode().partition("?")[0]))
            if found and method == request.method:
                return answer(request, *found.groups())
        return self.error(404, "Not Found")

    def token(self, request: httpx.Request) -> str:
        return str(request.headers.get("authorization", ""))

    def error(self, status: int, message: str) -> httpx.Response:
        return httpx.Response(status, json={"message": message})

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        raise NotImplementedError

    def show(self, pull: Pull) -> Mapping[str, Any]:
        raise NotImplementedError

    def opened(self, branch: str, base: str, title: str, body: str) -> Pull:
        pull = Pull(len(self.pulls) + 1, branch, base, title, body)
        self.pulls.append(pull)
        return pull

    def has_open(self, branch: str) -> bool:
        return any(pull.branch == branch and pull.state == "open" for pull in self.pulls)

    def pull(self, number: str) -> Pull:
        return self.pulls[int(number) - 1]

    def review(self, request: httpx.Request, number: str) -> httpx.Response:
        """Reviewers asked for by name; a stranger to the repository is refused."""
        asked = json.loads(request.content)
        names = [*asked.get("reviewers", ()), *(f"team/{name}" for name in asked.get("team_reviewers", ()))]
        if any(name not in (*PEOPLE, "team/ml") for name in names):
            return self.error(422, "Reviews may only be requested from collaborators.")
        self.pull(number).reviewers += names
        return httpx.Response(201, json={})

    def comment(self, request: httpx.Request, number: str, *keys: str) -> httpx.Response:
        """A new comment, whose text stands under the keys."""
        pull = self.pull(number)
        pull.comments.append(Said(1000 * pull.number + len(pull.comments), _at(json.loads(request.content), keys)))
        return httpx.Response(201, json={"id": pull.comments[-1].id})

    def recomment(self, request: httpx.Request, id_: str, *keys: str) -> httpx.Response:
        """Another text of a comment."""
        found = [said for pull in self.pulls for said in pull.comments if said.id == int(id_)]
        found[0].text = _at(json.loads(request.content), keys)
        return httpx.Response(200, json={"id": found[0].id})

    def answer(self, number: str) -> httpx.Response:
        found = [pull for pull in self.pulls if pull.number == int(number)]
        return httpx.Response(200, json=self.show(found[0])) if found else self.error(404, "Not Found")

    def message(self, sha: str) -> str | None:
        """What the commit of a pull request says: its number stands for its sha."""
        found = [pull for pull in self.pulls if sha in (f"{pull.number:040x}", f"{pull.number:012x}")]
        return MESSAGE if found else None

    def commit(self, sha: str, nested: bool = True) -> httpx.Response:
        message = self.message(sha)
        if message is None:
            return self.error(404, "Not Found")
        said = {"message": message}
        return httpx.Response(200, json={"sha": sha, "commit": said} if nested else said)

    def newest(self, branch: str | None = None) -> list[Mapping[str, Any]]:
        return [self.show(pull) for pull in reversed(self.pulls) if branch in (None, pull.branch)]


def _at(body: Any, keys: tuple[str, ...]) -> str:
    for key in keys:
        body = body[key]
    return str(body)


class GiteaServer(Server):
    """Gitea: no filter by branch, `label` keeps the branch's name, a duplicate is 409, a deleted branch loses `ref`."""

    root = f"/api/v1/repos/{REPOSITORY}"

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        return [
            ("GET", self.root, lambda request: httpx.Response(200, json={"default_branch": "main"})),
            ("GET", f"{self.root}/pulls", self._list),
            ("GET", f"{self.root}/pulls/(\\d+)", lambda request, number: self.answer(number)),
            ("POST", f"{self.root}/pulls", self._open),
            ("PATCH", f"{self.root}/pulls/(\\d+)", self._edit),
            ("GET", f"{self.root}/issues/(\\d+)/comments", self._comments),
            (
                "POST",
                f"{self.root}/issues/(\\d+)/comments",
                lambda request, number: self.comment(request, number, "body"),
            ),
            (
                "PATCH",
                f"{self.root}/issues/comments/(\\d+)",
                lambda request, id_: self.recomment(request, id_, "body"),
            ),
            ("GET", f"{self.root}/git/commits/(\\w+)", lambda request, sha: self.commit(sha)),
            (
                "GET",
                f"{self.root}/labels",
                lambda request: httpx.Response(200, json=[_LABEL, {"id": 8, "name": "slow"}]),
            ),
            ("POST", f"{self.root}/pulls/(\\d+)/requested_reviewers", self.review),
        ]

    def show(self, pull: Pull) -> Mapping[str, Any]:
        merged = pull.state == "merged"
        return {
            "number": pull.number,
            "html_url": f"https://git.example.org/{REPOSITORY}/pulls/{pull.number}",
            "title": pull.title,
            "body": pull.body,
            "user": {"id": OPERATOR},
            "state": "open" if pull.state == "open" else "closed",
            "merged": merged,
            "merged_at": _AT if merged else None,
            "merge_commit_sha": pull.merge_sha,
            "head": {
                "label": pull.branch,
                "ref": f"refs/pull/{pull.number}/head" if merged else pull.branch,
                "sha": f"{pull.number:040x}",
                "repo_id": 3,
            },
            "base": {"label": pull.base, "ref": pull.base, "sha": "0" * 40, "repo_id": 3},
        }

    def _list(self, request: httpx.Request) -> httpx.Response:
        page, limit = int(request.url.params["page"]), int(request.url.params["limit"])
        return httpx.Response(200, json=self.newest()[(page - 1) * limit : page * limit])

    def _open(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if self.has_open(body["head"]):
            return self.error(409, "pull request already exists for these targets")
        pull = self.opened(body["head"], body["base"], body["title"], body["body"])
        pull.labels = [{7: "mfu-operator", 8: "slow"}[label] for label in body["labels"]]
        pull.draft = pull.title.startswith("WIP: ")
        return httpx.Response(201, json=self.show(pull))

    def _edit(self, request: httpx.Request, number: str) -> httpx.Response:
        body, pull = json.loads(request.content), self.pull(number)
        pull.state, pull.body = body.get("state", pull.state), body.get("body", pull.body)
        pull.assignees += body.get("assignees", [])
        return self.answer(number)

    def _comments(self, request: httpx.Request, number: str) -> httpx.Response:
        said = [{"id": each.id, "body": each.text, "user": {"id": each.author}} for each in self.pull(number).comments]
        return httpx.Response(200, json=said)


class GitHubServer(Server):
    """GitHub: filters by `owner:branch`, a duplicate is 422, `merged` is absent from lists."""

    root = f"/repos/{REPOSITORY}"

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        return [
            ("GET", self.root, lambda request: httpx.Response(200, json={"default_branch": "main"})),
            ("GET", f"{self.root}/pulls", self._list),
            ("GET", f"{self.root}/pulls/(\\d+)", lambda request, number: self.answer(number)),
            ("POST", f"{self.root}/pulls", self._open),
            ("PATCH", f"{self.root}/pulls/(\\d+)", self._edit),
            ("GET", f"{self.root}/issues/(\\d+)/comments", self._comments),
            (
                "POST",
                f"{self.root}/issues/(\\d+)/comments",
                lambda request, number: self.comment(request, number, "body"),
            ),
            (
                "PATCH",
                f"{self.root}/issues/comments/(\\d+)",
                lambda request, id_: self.recomment(request, id_, "body"),
            ),
            ("GET", f"{self.root}/commits/(\\w+)", lambda request, sha: self.commit(sha)),
            ("POST", f"{self.root}/issues/(\\d+)/labels", self._label),
            ("POST", f"{self.root}/issues/(\\d+)/assignees", self._assign),
            ("POST", f"{self.root}/pulls/(\\d+)/requested_reviewers", self.review),
        ]

    def show(self, pull: Pull) -> Mapping[str, Any]:
        return {
            "number": pull.number,
            "html_url": f"https://github.com/{REPOSITORY}/pull/{pull.number}",
            "title": pull.title,
            "body": pull.body,
            "user": {"id": OPERATOR},
            "state": "open" if pull.state == "open" else "closed",
            "merged_at": _AT if pull.state == "merged" else None,
            "merge_commit_sha": pull.merge_sha or "a" * 40,
            "head": {"ref": pull.branch, "sha": f"{pull.number:040x}"},
            "base": {"ref": pull.base},
        }

    def _list(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["state"] == "all"
        owner, _, branch = request.url.params["head"].partition(":")
        return httpx.Response(200, json=self.newest(branch) if owner == "team" else [])

    def _open(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if self.has_open(body["head"]):
            message = "A pull request already exists for team:branch."
            return httpx.Response(422, json={"message": "Validation Failed", "errors": [{"message": message}]})
        pull = self.opened(body["head"], body["base"], body["title"], body["body"])
        pull.draft = body.get("draft", False)
        return httpx.Response(201, json=self.show(pull))

    def _assign(self, request: httpx.Request, number: str) -> httpx.Response:
        self.pull(number).assignees += json.loads(request.content)["assignees"]
        return httpx.Response(201, json={})

    def _label(self, request: httpx.Request, number: str) -> httpx.Response:
        self.pulls[int(number) - 1].labels = json.loads(request.content)["labels"]
        return httpx.Response(200, json=[])

    def _edit(self, request: httpx.Request, number: str) -> httpx.Response:
        body, pull = json.loads(request.content), self.pull(number)
        pull.state, pull.body = body.get("state", pull.state), body.get("body", pull.body)
        return self.answer(number)

    def _comments(self, request: httpx.Request, number: str) -> httpx.Response:
        said = [{"id": each.id, "body": each.text, "user": {"id": each.author}} for each in self.pull(number).comments]
        return httpx.Response(200, json=said)


class GitLabServer(Server):
    """GitLab: merge requests by iid, the project's path as one escaped segment, a duplicate is 409."""

    root = f"/api/v4/projects/{REPOSITORY}"

    def token(self, request: httpx.Request) -> str:
        return str(request.headers.get("private-token", ""))

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        return [
            ("GET", self.root, lambda request: httpx.Response(200, json={"default_branch": "main"})),
            ("GET", f"{self.root}/merge_requests", self._list),
            ("GET", f"{self.root}/users", self._users),
            ("GET", f"{self.root}/merge_requests/(\\d+)", lambda request, number: self.answer(number)),
            ("POST", f"{self.root}/merge_requests", self._open),
            ("PUT", f"{self.root}/merge_requests/(\\d+)", self._edit),
            ("GET", f"{self.root}/merge_requests/(\\d+)/notes", self._notes),
            (
                "POST",
                f"{self.root}/merge_requests/(\\d+)/notes",
                lambda request, number: self.comment(request, number, "body"),
            ),
            (
                "PUT",
                f"{self.root}/merge_requests/\\d+/notes/(\\d+)",
                lambda request, id_: self.recomment(request, id_, "body"),
            ),
            ("GET", f"{self.root}/repository/commits/(\\w+)", lambda request, sha: self.commit(sha, nested=False)),
        ]

    def show(self, pull: Pull) -> Mapping[str, Any]:
        merged = pull.state == "merged"
        return {
            "id": 4000 + pull.number,
            "iid": pull.number,
            "web_url": f"https://gitlab.com/{REPOSITORY}/-/merge_requests/{pull.number}",
            "title": pull.title,
            "description": pull.body,
            "author": {"id": OPERATOR},
            "state": {"open": "opened"}.get(pull.state, pull.state),
            "source_branch": pull.branch,
            "target_branch": pull.base,
            "source_project_id": 9,
            "target_project_id": 9,
            "sha": f"{pull.number:040x}",
            "merge_commit_sha": pull.merge_sha,
            "squash_commit_sha": None,
            "merged_at": _AT if merged else None,
        }

    def _list(self, request: httpx.Request) -> httpx.Response:
        assert b"team%2Fmodels" in request.url.raw_path
        return httpx.Response(200, json=self.newest(request.url.params["source_branch"]))

    def _open(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if self.has_open(body["source_branch"]):
            message = ["Another open merge request already exists for this source branch: !1"]
            return httpx.Response(409, json={"message": message})
        pull = self.opened(body["source_branch"], body["target_branch"], body["title"], body["description"])
        pull.labels, pull.draft = body["labels"].split(","), pull.title.startswith("Draft: ")
        return httpx.Response(201, json=self.show(pull))

    def _edit(self, request: httpx.Request, number: str) -> httpx.Response:
        body, pull = json.loads(request.content), self.pull(number)
        if "state_event" in body:
            pull.state, pull.body = {"close": "closed"}[body["state_event"]], body["description"]
        names = {number: name for name, number in PEOPLE.items()}
        pull.reviewers += [names[each] for each in body.get("reviewer_ids", ())]
        pull.assignees += [names[each] for each in body.get("assignee_ids", ())]
        return self.answer(number)

    def _users(self, request: httpx.Request) -> httpx.Response:
        wanted = request.url.params["search"]
        return httpx.Response(200, json=[{"id": PEOPLE[each], "username": each} for each in PEOPLE if wanted in each])

    def _notes(self, request: httpx.Request, number: str) -> httpx.Response:
        said = [
            {"id": each.id, "body": each.text, "author": {"id": each.author}} for each in self.pull(number).comments
        ]
        return httpx.Response(200, json=said)


class BitbucketServer(Server):
    """Bitbucket Cloud: a query language, `values` in pages, DECLINED for closed, a creation again is the same."""

    root = f"/2.0/repositories/{REPOSITORY}"

    def error(self, status: int, message: str) -> httpx.Response:
        return httpx.Response(status, json={"type": "error", "error": {"message": message}})

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        return [
            ("GET", f"{self.root}/pullrequests", self._list),
            ("GET", f"{self.root}/pullrequests/(\\d+)", lambda request, number: self.answer(number)),
            ("POST", f"{self.root}/pullrequests", self._open),
            ("PUT", f"{self.root}/pullrequests/(\\d+)", self._edit),
            ("POST", f"{self.root}/pullrequests/(\\d+)/decline", self._decline),
            ("GET", f"{self.root}/pullrequests/(\\d+)/comments", self._comments),
            (
                "POST",
                f"{self.root}/pullrequests/(\\d+)/comments",
                lambda request, number: self.comment(request, number, "content", "raw"),
            ),
            (
                "PUT",
                f"{self.root}/pullrequests/\\d+/comments/(\\d+)",
                lambda request, id_: self.recomment(request, id_, "content", "raw"),
            ),
            ("GET", f"{self.root}/commit/(\\w+)", lambda request, sha: self.commit(sha, nested=False)),
        ]

    def show(self, pull: Pull) -> Mapping[str, Any]:
        merged = pull.state == "merged"
        return {
            "id": pull.number,
            "title": pull.title,
            "description": pull.body,
            "author": {"uuid": f"{{{OPERATOR}}}"},
            "state": {"open": "OPEN", "merged": "MERGED"}.get(pull.state, "DECLINED"),
            "links": {"html": {"href": f"https://bitbucket.org/{REPOSITORY}/pull-requests/{pull.number}"}},
            "source": {
                "branch": {"name": pull.branch},
                "commit": {"hash": f"{pull.number:012x}"},
                "repository": {"full_name": REPOSITORY},
            },
            "destination": {"branch": {"name": pull.base}, "repository": {"full_name": REPOSITORY}},
            "merge_commit": {"hash": (pull.merge_sha or "")[:12]} if merged else None,
            "updated_on": datetime(2026, 11, 21, 6, 30, tzinfo=UTC).isoformat(),
        }

    def _list(self, request: httpx.Request) -> httpx.Response:
        query = request.url.params["q"]
        assert "DECLINED" in query, "without a state only open ones are told"
        found = re.search(r'source\.branch\.name = "([^"]+)"', query)
        assert found is not None
        return httpx.Response(200, json={"values": self.newest(found[1])})

    def _open(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        branch = body["source"]["branch"]["name"]
        existing = [pull for pull in self.pulls if pull.branch == branch and pull.state == "open"]
        base = body.get("destination", {"branch": {"name": "main"}})["branch"]["name"]
        pull = existing[0] if existing else self.opened(branch, base, body["title"], body["description"])
        pull.draft = body.get("draft", False)
        return httpx.Response(201, json=self.show(pull))

    def _edit(self, request: httpx.Request, number: str) -> httpx.Response:
        body, pull = json.loads(request.content), self.pull(number)
        assert body["title"] == pull.title
        pull.body = body.get("description", pull.body)
        pull.reviewers += [each["uuid"] for each in body.get("reviewers", ())]
        return self.answer(number)

    def _decline(self, request: httpx.Request, number: str) -> httpx.Response:
        self.pull(number).state = "closed"
        return self.answer(number)

    def _comments(self, request: httpx.Request, number: str) -> httpx.Response:
        said = [
            {"id": each.id, "content": {"raw": each.text}, "user": {"uuid": f"{{{each.author}}}"}}
            for each in self.pull(number).comments
        ]
        return httpx.Response(200, json={"values": said})


class AzureServer(Server):
    """Azure DevOps: full ref names, `abandoned` for closed, comments in threads, 203 and a page for a wrong token."""

    root = f"/{REPOSITORY.partition('/')[0]}/_apis/git/repositories/{REPOSITORY.partition('/')[2]}"

    def handle(self, request: httpx.Request) -> httpx.Response:
        if base64.b64decode(request.headers["authorization"].partition(" ")[2]).decode() != f":{TOKEN}":
            self.requests.append(request)
            return httpx.Response(203, html="<html>Sign in</html>")
        assert request.headers["accept"] == "application/json;api-version=7.1"
        return super().handle(request)

    def token(self, request: httpx.Request) -> str:
        return TOKEN

    def routes(self) -> list[tuple[str, str, Callable[..., httpx.Response]]]:
        return [
            ("GET", self.root, lambda request: httpx.Response(200, json={"defaultBranch": "refs/heads/main"})),
            ("GET", f"{self.root}/pullrequests", self._list),
            ("POST", f"{self.root}/pullrequests", self._open),
            ("GET", f"{self.root}/pullrequests/(\\d+)", lambda request, number: self.answer(number)),
            ("PATCH", f"{self.root}/pullrequests/(\\d+)", self._edit),
            ("PUT", f"{self.root}/pullrequests/(\\d+)/reviewers/([\\w-]+)", self._review),
            ("GET", f"{self.root}/pullrequests/(\\d+)/threads", self._threads),
            ("POST", f"{self.root}/pullrequests/(\\d+)/threads", self._thread),
            ("PATCH", f"{self.root}/pullrequests/\\d+/threads/(\\d+)/comments/1", self._recomment),
            ("GET", f"{self.root}/commits/(\\w+)", self._commit),
        ]

    def show(self, pull: Pull) -> Mapping[str, Any]:
        shown: dict[str, Any] = {
            "pullRequestId": pull.number,
            "title": pull.title,
            "description": pull.body,
            "createdBy": {"id": f"0000-{OPERATOR}", "displayName": "mfu-operator"},
            "status": {"open": "active", "merged": "completed"}.get(pull.state, "abandoned"),
            "sourceRefName": f"refs/heads/{pull.branch}",
            "targetRefName": f"refs/heads/{pull.base}",
            "lastMergeSourceCommit": {"commitId": f"{pull.number:040x}"},
            "lastMergeCommit": {"commitId": pull.merge_sha or "b" * 40},
        }
        return shown if pull.state == "open" else shown | {"closedDate": "2026-11-21T06:30:00.1234567Z"}

    def _list(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["searchCriteria.status"] == "all", "without a status only active ones are told"
        branch = request.url.params["searchCriteria.sourceRefName"].removeprefix("refs/heads/")
        found = self.newest(branch)
        return httpx.Response(200, json={"value": found, "count": len(found)})

    def _open(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        branch, base = (body[key].removeprefix("refs/heads/") for key in ("sourceRefName", "targetRefName"))
        if self.has_open(branch):
            message = "TF401179: An active pull request for the source and target branch already exists."
            return httpx.Response(409, json={"message": message, "typeKey": "GitPullRequestExistsException"})
        pull = self.opened(branch, base, body["title"], body["description"])
        pull.labels, pull.draft = [label["name"] for label in body["labels"]], body["isDraft"]
        return httpx.Response(201, json=self.show(pull))

    def _edit(self, request: httpx.Request, number: str) -> httpx.Response:
        body, pull = json.loads(request.content), self.pull(number)
        assert len(body["description"]) <= 4000
        pull.state, pull.body = {"abandoned": "closed"}[body["status"]], body["description"]
        return self.answer(number)

    def _review(self, request: httpx.Request, number: str, name: str) -> httpx.Response:
        self.pull(number).reviewers.append(name)
        return httpx.Response(200, json={"id": name})

    def _threads(self, request: httpx.Request, number: str) -> httpx.Response:
        threads = [
            {"id": said.id, "comments": [{"id": 1, "content": said.text, "author": {"id": f"0000-{said.author}"}}]}
            for said in self.pull(number).comments
        ]
        return httpx.Response(200, json={"value": threads, "count": len(threads)})

    def _thread(self, request: httpx.Request, number: str) -> httpx.Response:
        body = json.loads(request.content)
        pull = self.pull(number)
        pull.comments.append(Said(1000 * pull.number + len(pull.comments), body["comments"][0]["content"]))
        return httpx.Response(200, json={"id": pull.comments[-1].id})

    def _recomment(self, request: httpx.Request, id_: str) -> httpx.Response:
        return self.recomment(request, id_, "content")

    def _commit(self, request: httpx.Request, sha: str) -> httpx.Response:
        message = self.message(sha)
        if message is None:
            return self.error(404, "TF401175: The version descriptor could not be resolved")
        return httpx.Response(200, json={"commitId": sha, "comment": message})
