"""Charts of Helm repositories and OCI registries, fetched by the guarded client and unpacked: nothing of them runs.

Credentials are sent only where their own Secret says so. Everything is bounded: the index, the archive, what is
unpacked, and the time of each request.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import httpx

from mfu_operator.adapters import guarded_http
from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.tls import context_of
from mfu_operator.errors import MfuError
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.tree import NotNow, NotRenderable
from mfu_operator.gitops.sources.versions import is_range
from mfu_operator.ports import Credentials

INDEX_BYTES = 64 * 1024 * 1024
"""Of a Helm repository's index; the largest public ones have 20 MB."""

ENTRY_BYTES = 4 * 1024 * 1024
"""Of one chart's part of it, which alone is parsed."""

ARCHIVE_BYTES = 16 * 1024 * 1024
UNPACKED_BYTES = 64 * 1024 * 1024
FILES = 5_000
MANIFEST_BYTES = 1024 * 1024
DEADLINE_S = 20.0
"""For each request."""

REDIRECTS = 3
"""Registries hand blobs out from their stores."""

_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CLOSED = (
    "needs credentials, and none that are given serve there: a Secret in spec.remediation.credentials, or that of "
    "forge.secretRef, lists in its key address where it may be sent; kubectl mfu suspects takes the chart by --chart"
)
_CHALLENGE = re.compile(r'(realm|service|scope)="([^"]{0,500})"')


@dataclass(slots=True)
class Charts:
    """Fetches charts into a folder, each once.

    Args:
        egress: where the operator may go.
        folder: of the caller's, removed by the caller.
        transport: another one, for tests.
        credentials: for private repositories and registries, each for the servers that its Secret lists; None: nothing
            is sent.
    """

    egress: Egress
    folder: Path
    transport: httpx.BaseTransport | None = None
    credentials: Credentials | None = None
    _known: dict[str, Path | NotRenderable] = field(default_factory=dict)

    def fetch(self, repository: str, name: str, version: str) -> Path:
        """The folder of a chart.

        Raises:
            NotRenderable: it is not there, may not be fetched, or lies beyond a bound.
            NotNow: its server did not answer.
        """
        key = f"{repository}/{name}@{version}"
        if key not in self._known:
            try:
                self._known[key] = self._fetched(repository, name, version)
            except NotRenderable as error:
                self._known[key] = error
            except httpx.HTTPError as error:
                self._known[key] = NotNow(f"chart {key} could not be fetched: {error}")
            except MfuError as error:
                self._known[key] = NotRenderable(f"chart {key} may not be fetched: {error.message}")
        found = self._known[key]
        if isinstance(found, NotRenderable):
            raise found
        return found

    def _fetched(self, repository: str, name: str, version: str) -> Path:
        told = f"chart {repository}/{name}@{version}"
        if is_range(version):
            raise NotRenderable(f"{told} is a range, and which version ran is not recorded")
        archive = self._of_registry(repository, name, version) if repository.startswith("oci://") else None
        if archive is None:
            archive = self._of_index(repository, name, version)
        target = self.folder / f"chart-{len(self._known)}"
        target.mkdir(parents=True)
        return unpacked(archive, target, told)

    def _of_index(self, repository: str, name: str, version: str) -> bytes:
        base = repository.rstrip("/") + "/"
        index = self._get(urljoin(base, "index.yaml"), INDEX_BYTES, f"the index of {repository}")
        for entry in _entries(index, name):
            if str(entry.get("version")) in (version, f"v{version}", version.removeprefix("v")):
                urls = [str(url) for url in entry.get("urls") or []]
                if not urls:
                    break
                data = self._get(urljoin(base, urls[0]), ARCHIVE_BYTES, f"chart {name} {version} of {repository}")
                _verified(data, entry.get("digest"), f"chart {name} {version} of {repository}")
                return data
        raise NotRenderable(f"{repository} has no chart {name} {version}")

    def _of_registry(self, repository: str, name: str, version: str) -> bytes:
        told = f"chart {name} {version} of {repository}"
        host, _, path = repository.removeprefix("oci://").strip("/").partition("/")
        base = f"https://{host}/v2/{f'{path}/' if path else ''}{name}"
        headers = {"Accept": _MANIFEST}
        url = f"{base}/manifests/{version.replace('+', '_')}"
        answer = self._ask(url, headers)
        if answer[0] == httpx.codes.UNAUTHORIZED:
            headers["Authorization"] = f"Bearer {self._token(answer[1].get('www-authenticate', ''), told)}"
            answer = self._ask(url, headers)
        manifest = _json(self._content(answer, MANIFEST_BYTES, told), told)
        layer = next((each for each in manifest.get("layers") or []
                      if isinstance(each, dict) and each.get("mediaType") == _LAYER), None)  # fmt: skip
        digest = str(layer.get("digest")) if layer else ""
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
            raise NotRenderable(f"{told} is not a Helm chart")
        data = self._get(f"{base}/blobs/{digest}", ARCHIVE_BYTES, told, headers)
        _verified(data, digest, told)
        return data

    def _token(self, challenge: str, told: str) -> str:
        """One for the credentials, where they may be sent to who gives it; else an anonymous one, as registries that
        are open to everybody give."""
        asked = dict(_CHALLENGE.findall(challenge))
        realm = asked.pop("realm", "")
        if not challenge.lower().startswith("bearer") or not realm.startswith("https://"):
            raise NotRenderable(f"{told} {_CLOSED}")
        found = _json(self._get(f"{realm}?{urlencode(asked)}", MANIFEST_BYTES, f"the token for {told}"), told)
        return str(found.get("token") or found.get("access_token") or "")

    def _get(self, url: str, most: int, told: str, headers: Mapping[str, str] | None = None) -> bytes:
        return self._content(self._ask(url, headers or {}, most), most, told)

    def _content(self, answer: "_Answer", most: int, told: str) -> bytes:
        status, _, data = answer
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise NotRenderable(f"{told} {_CLOSED}")
        if status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.TOO_MANY_REQUESTS:
            raise NotNow(f"{told} could not be fetched: the server answered {status}")
        if status != httpx.codes.OK:
            raise NotRenderable(f"{told} is not there: the server answered {status}")
        if data is None:
            raise NotRenderable(f"{told} is larger than {most >> 20} MiB")
        return data

    def _ask(self, url: str, headers: Mapping[str, str], most: int = MANIFEST_BYTES) -> "_Answer":
        """The answer behind at most REDIRECTS others, each judged; a token goes to its own server alone."""
        for _ in range(REDIRECTS + 1):
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https"):
                raise NotRenderable(f"{url[:200]} is not an address that is fetched")
            login = self.credentials.toward(url.partition("?")[0]) if self.credentials is not None else None
            sent, verify = {**_shown(login), **headers}, context_of(login) if login is not None else None
            client = guarded_http.client(f"{parts.scheme}://{parts.netloc}", self.egress, sent, DEADLINE_S,
                                         verify=verify, proxied=True, transport=self.transport)  # fmt: skip
            with client, client.stream("GET", url) as answer:
                if not answer.has_redirect_location:
                    try:
                        content = guarded_http.content(answer, most)
                    except guarded_http.AnswerTooLarge:
                        return answer.status_code, answer.headers, None
                    return answer.status_code, answer.headers, content
                onward = urljoin(url, answer.headers["location"])
            if urlsplit(onward).netloc != parts.netloc:
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
            url = onward
        raise NotRenderable(f"{url[:200]} leads on more than {REDIRECTS} times")


_Answer = tuple[int, Mapping[str, str], bytes | None]


def _shown(login: Credentials | None) -> dict[str, str]:
    if login is None or not login.password:
        return {}
    pair = b64encode(f"{login.username or 'oauth2'}:{login.password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def _entries(index: bytes, name: str) -> Iterator[Mapping[str, Any]]:
    """The versions of one chart in an index, of which nothing else is parsed."""
    named = re.compile(rb" +(['\"]?)" + re.escape(name.encode()) + rb"\1:\s*$")
    block, listed, depth, inside = bytearray(), False, 0, False
    for line in filter(bytes.strip, io.BytesIO(index)):
        indented = len(line) - len(line.lstrip(b" "))
        if listed and not depth:
            depth = indented
        if inside and (line[:1].isalpha() or (indented == depth and re.match(rb"['\"\w]", line.lstrip(b" ")))):
            break
        if inside:
            block += line
        listed = line.startswith(b"entries:") or (listed and indented > 0)
        inside = inside or (listed and indented == depth and named.match(line) is not None)
        if len(block) > ENTRY_BYTES:
            raise NotRenderable(f"the index lists more than {ENTRY_BYTES >> 20} MiB of chart {name}")
    try:
        documents = yaml_documents(block.decode("utf-8", "replace"))
    except UnreadableText as error:
        raise NotRenderable(f"the index of chart {name} cannot be read: {error}") from error
    for entry in documents[0] if documents and isinstance(documents[0], list) else []:
        if isinstance(entry, dict):
            yield entry


def _verified(data: bytes, digest: object, told: str) -> None:
    wanted = str(digest).removeprefix("sha256:").lower()
    if digest is not None and hashlib.sha256(data).hexdigest() != wanted:
        raise NotRenderable(f"{told} has another digest than its repository says")


def _json(data: bytes, told: str) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotRenderable(f"{told}: the registry's answer is not JSON") from error
    return found if isinstance(found, dict) else {}


def unpacked(archive: bytes, folder: Path, told: str) -> Path:
    """The chart's folder in an archive, its regular files alone.

    Raises:
        NotRenderable: it is not an archive of a chart, leads out of its folder, or lies beyond a bound.
    """
    size = count = 0
    roots: dict[str, None] = {}
    try:
        # Not "r|gz": tarfile takes the extra field, which helm writes before each archive, for compressed data.
        with gzip.GzipFile(fileobj=io.BytesIO(archive)) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            for member in tar:
                count, size = count + 1, size + max(member.size, 0)
                if count > FILES or size > UNPACKED_BYTES:
                    raise NotRenderable(f"{told} holds more than {FILES} files or {UNPACKED_BYTES >> 20} MiB")
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts or not path.parts:
                    raise NotRenderable(f"{told} leads out of its folder")
                content = tar.extractfile(member) if member.isreg() else None
                if content is None:
                    continue
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
                roots[path.parts[0]] = None
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        raise NotRenderable(f"{told} is not an archive that can be read: {error}") from error
    found = [folder / root for root in roots if (folder / root / "Chart.yaml").is_file()]
    if len(found) != 1:
        raise NotRenderable(f"{told} holds no chart")
    return found[0]
