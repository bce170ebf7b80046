"""Charts of repositories and registries: fetched by the guarded client, verified, unpacked and bounded."""

import hashlib
import io
import struct
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mfu_operator.adapters import charts
from mfu_operator.adapters.charts import Charts
from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.api.bound_address import Bound
from mfu_operator.gitops.sources.tree import NotNow, NotRenderable
from mfu_operator.ports import Credentials
from tests.support.layouts import CHARTS, chart

Answers = Mapping[str, httpx.Response | Exception]


HELMS_EXTRA = b"+aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo="
"""The extra field of gzip's header (RFC 1952) that `helm package` writes, before the comment "Helm"."""


def as_helm_packs(tar: bytes) -> bytes:
    header = (
        b"\x1f\x8b\x08\x14" + bytes(4) + b"\x00\xff" + struct.pack("<H", len(HELMS_EXTRA)) + HELMS_EXTRA + b"Helm\0"
    )
    deflated = zlib.compressobj(wbits=-15)
    return header + deflated.compress(tar) + deflated.flush() + struct.pack("<II", zlib.crc32(tar), len(tar))


def archive(files: Mapping[str, str] | None = None, **links: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for path, text in (files or chart("gpt/")).items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        for name, target in links.items():
            link = tarfile.TarInfo(f"gpt/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return as_helm_packs(data.getvalue())


ARCHIVE = archive()
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


def index(url: str = "gpt-1.0.0.tgz", digest: str = DIGEST) -> str:
    entry = f"  - {{version: 1.0.0, digest: {digest}, urls: ['{url}']}}\n"
    before = "apiVersion: v1\nentries:\n  gpt-eval:\n  - {version: 1.0.0, urls: [no.tgz]}\n"
    return f"{before}  gpt:\n{entry}  other: [{{}}]\n"


def indented(first: str) -> str:
    """The index as Gitea and others write it: four blanks a level, items of a list deeper than their key."""
    entry = f"        - version: 1.0.0\n          digest: {DIGEST}\n          urls:\n            - gpt-1.0.0.tgz\n"
    nested = "          annotations:\n            gpt:\n                - {version: 1.0.0, urls: [no.tgz]}\n"
    before = f"apiVersion: v1\nentries:\n    {first}:\n        - version: 1.0.0\n          urls: [no.tgz]\n{nested}"
    return f"{before}    gpt:\n{entry}    other: [{{}}]\ngenerated: now\nserverInfo:\n    contextPath: /gpt\n"


def client(
    folder: Path, answers: Answers, egress: Egress = ANYWHERE, asked: list[httpx.Request] | None = None
) -> Charts:
    def answer(request: httpx.Request) -> httpx.Response:
        if asked is not None:
            asked.append(request)
        found = answers.get(str(request.url), httpx.Response(404))
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found.status_code, headers=found.headers, content=found.content)

    return Charts(egress, folder, httpx.MockTransport(answer))


def repository(**changes: str) -> Answers:
    return {f"{CHARTS}/index.yaml": httpx.Response(200, text=index(**changes)),
            f"{CHARTS}/gpt-1.0.0.tgz": httpx.Response(200, content=ARCHIVE)}  # fmt: skip


def test_a_chart_of_a_repository_is_fetched_once_and_unpacked(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []
    found = client(tmp_path, repository(), asked=asked)
    folder = found.fetch(CHARTS, "gpt", "1.0.0")
    assert (folder / "Chart.yaml").read_text() == chart("gpt/")["gpt/Chart.yaml"]
    assert found.fetch(CHARTS, "gpt", "1.0.0") == folder
    assert len(asked) == 2


@pytest.mark.parametrize("before", ["gpt-eval", "abc"])
def test_an_index_may_be_indented_as_its_server_likes(tmp_path: Path, before: str) -> None:
    answers = {**repository(), f"{CHARTS}/index.yaml": httpx.Response(200, text=indented(before))}
    assert (client(tmp_path, answers).fetch(CHARTS, "gpt", "1.0.0") / "Chart.yaml").is_file()


def test_a_chart_of_a_registry_is_fetched_with_the_token_that_everybody_gets(tmp_path: Path) -> None:
    base = "https://registry.example/v2/ml/gpt"
    layer = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": f"sha256:{DIGEST}"}
    challenge = {
        "WWW-Authenticate": 'Bearer realm="https://auth.example/token",service="r",scope="repository:ml/gpt:pull"'
    }
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        url, token = str(request.url), request.headers.get("authorization")
        if url.startswith("https://auth.example/token?service=r&scope="):
            return httpx.Response(200, json={"token": "anonymous"})
        if url == "https://store.example/blob":
            return httpx.Response(200, content=ARCHIVE)
        if token != "Bearer anonymous":
            return httpx.Response(401, headers=challenge)
        if url == f"{base}/manifests/1.0.0":
            return httpx.Response(200, json={"layers": [layer]})
        return httpx.Response(307, headers={"Location": "https://store.example/blob"})

    found = Charts(ANYWHERE, tmp_path, httpx.MockTransport(answer))
    assert (found.fetch("oci://registry.example/ml", "gpt", "1.0.0") / "values.yaml").exists()
    assert asked[-1].headers.get("authorization") is None, "a token goes to its own server alone"


@pytest.mark.parametrize(("answers", "said"), [
    (repository(digest="0" * 64), "another digest"),
    (repository(url="file:///etc/passwd"), "not an address that is fetched"),
    ({f"{CHARTS}/index.yaml": httpx.Response(401)}, "needs credentials"),
    ({f"{CHARTS}/index.yaml": httpx.Response(404)}, "is not there"),
    ({f"{CHARTS}/index.yaml": httpx.Response(200, text="entries: {}")}, "has no chart gpt 1.0.0"),
    ({f"{CHARTS}/index.yaml": httpx.Response(302, headers={"Location": f"{CHARTS}/index.yaml"})}, "leads on more than"),
])  # fmt: skip
def test_what_is_not_the_chart_is_told_and_final(tmp_path: Path, answers: Answers, said: str) -> None:
    with pytest.raises(NotRenderable, match=said) as raised:
        client(tmp_path, answers).fetch(CHARTS, "gpt", "1.0.0")
    assert not isinstance(raised.value, NotNow)


@pytest.mark.parametrize("answer", [httpx.Response(503), httpx.Response(429), httpx.ConnectTimeout("slow")], ids=str)
def test_a_server_that_does_not_answer_now_is_asked_again(tmp_path: Path, answer: httpx.Response | Exception) -> None:
    with pytest.raises(NotNow):
        client(tmp_path, {f"{CHARTS}/index.yaml": answer}).fetch(CHARTS, "gpt", "1.0.0")


def test_a_range_is_not_guessed_and_a_refused_host_is_not_asked(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []
    found = client(tmp_path, repository(), Egress(hosts=("git.example",)), asked)
    with pytest.raises(NotRenderable, match="is a range"):
        found.fetch(CHARTS, "gpt", "1.x")
    with pytest.raises(NotRenderable, match="not among the hosts"):
        found.fetch(CHARTS, "gpt", "1.0.0")
    assert asked == []


@pytest.mark.parametrize(("files", "said"), [
    ({"../Chart.yaml": "name: gpt"}, "leads out"),
    ({"/gpt/Chart.yaml": "name: gpt"}, "leads out"),
    ({"gpt/values.yaml": "a: 1"}, "holds no chart"),
])  # fmt: skip
def test_an_archive_cannot_lead_out(tmp_path: Path, files: Mapping[str, str], said: str) -> None:
    with pytest.raises(NotRenderable, match=said):
        charts.unpacked(archive(files), tmp_path, "chart gpt")


def test_links_of_an_archive_are_left_out_and_bounds_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = charts.unpacked(archive(secrets="/etc/passwd"), tmp_path / "one", "chart gpt")
    assert not (found / "secrets").exists()
    monkeypatch.setattr(charts, "UNPACKED_BYTES", 10)
    with pytest.raises(NotRenderable, match="holds more than"):
        charts.unpacked(ARCHIVE, tmp_path / "two", "chart gpt")
    with pytest.raises(NotRenderable, match="not an archive"):
        charts.unpacked(b"gpt", tmp_path / "three", "chart gpt")
    with pytest.raises(NotRenderable, match="can be read"):
        charts.unpacked(ARCHIVE[:60] + b"gpt" * 9 + ARCHIVE[90:], tmp_path / "four", "chart gpt")


LISTED = (CHARTS, "https://registry.example/v2", "https://auth.example/token")
BASIC = "Basic cm9ib3Q6czNjcmV0"


def robot(*addresses: str) -> Credentials:
    """What a Secret with these addresses holds."""
    return Credentials("robot", "s3cret", bound=(Bound("team-a", "charts", addresses),))


LOGIN = robot(*LISTED)


def guarded(
    folder: Path,
    login: Credentials,
    asked: list[httpx.Request],
    answer: Callable[[str, str | None], httpx.Response],
    egress: Egress = ANYWHERE,
) -> Charts:
    def answered(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer(str(request.url), request.headers.get("authorization"))

    return Charts(egress, folder, httpx.MockTransport(answered), login)


def test_a_private_repository_is_read_with_what_its_secret_lists_it_for_and_nobody_else_is_shown_it(
    tmp_path: Path,
) -> None:
    asked: list[httpx.Request] = []

    def answer(url: str, shown: str | None) -> httpx.Response:
        if url == "https://store.example/gpt.tgz":
            return httpx.Response(200, content=ARCHIVE)
        if shown != BASIC:
            return httpx.Response(401)
        return httpx.Response(200, text=index(url="https://store.example/gpt.tgz"))

    assert (guarded(tmp_path / "a", LOGIN, asked, answer).fetch(CHARTS, "gpt", "1.0.0") / "values.yaml").exists()
    assert [each.headers.get("authorization") for each in asked] == [BASIC, None]
    other = robot(f"{CHARTS}/elsewhere", "https://charts.example.evil")
    with pytest.raises(NotRenderable, match="needs credentials") as raised:
        guarded(tmp_path / "b", other, asked, answer).fetch(CHARTS, "gpt", "1.0.0")
    assert "s3cret" not in str(raised.value) and "s3cret" not in repr(LOGIN)
    assert asked[-1].headers.get("authorization") is None


@pytest.mark.parametrize("listed", [True, False], ids=["may give a token", "may not be shown them"])
def test_a_private_registry_is_read_with_the_token_that_the_credentials_are_given(tmp_path: Path, listed: bool) -> None:
    layer = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": f"sha256:{DIGEST}"}
    challenge = {"WWW-Authenticate": 'Bearer realm="https://auth.example/token",service="r",scope="pull"'}
    asked: list[httpx.Request] = []

    def answer(url: str, shown: str | None) -> httpx.Response:
        if url.startswith("https://auth.example/token"):
            return httpx.Response(200, json={"token": "private" if shown == BASIC else "anonymous"})
        if shown == "Bearer anonymous":
            return httpx.Response(403)
        if shown != "Bearer private":
            return httpx.Response(401, headers=challenge)
        if "/manifests/" in url:
            return httpx.Response(200, json={"layers": [layer]})
        return httpx.Response(200, content=ARCHIVE)

    login = robot(*LISTED[: 3 if listed else 2])
    found = guarded(tmp_path, login, asked, answer)
    if listed:
        assert (found.fetch("oci://registry.example/ml", "gpt", "1.0.0") / "values.yaml").exists()
        return
    with pytest.raises(NotRenderable, match="needs credentials"):
        found.fetch("oci://registry.example/ml", "gpt", "1.0.0")
    assert next(each for each in asked if each.url.host == "auth.example").headers.get("authorization") is None


def test_credentials_are_not_sent_unencrypted(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []
    plain = robot("http://charts.example")
    with pytest.raises(NotRenderable, match="may not be fetched"):
        guarded(tmp_path, plain, asked, lambda url, shown: httpx.Response(200), Egress()).fetch(
            "http://charts.example", "gpt", "1.0.0"
        )
    assert asked == []


def test_each_server_is_shown_what_its_own_secret_holds(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []
    other = Credentials(None, "0ther", bound=(Bound("team-a", "other", ("https://other.example",)),))
    both = replace(LOGIN, beside=(other,))
    open_to_all = guarded(tmp_path, both, asked, lambda url, shown: httpx.Response(404))
    for repository in (CHARTS, "https://other.example/charts", "https://third.example"):
        with pytest.raises(NotRenderable):
            open_to_all.fetch(repository, "gpt", "1.0.0")
    assert [each.headers.get("authorization") for each in asked] == [BASIC, "Basic b2F1dGgyOjB0aGVy", None]


def test_two_secrets_for_one_server_are_told_and_neither_is_sent(tmp_path: Path) -> None:
    asked: list[httpx.Request] = []
    twin = Credentials(None, "0ther", bound=(Bound("team-a", "twin", (CHARTS,)),))
    both = guarded(tmp_path, replace(LOGIN, beside=(twin,)), asked, lambda url, shown: httpx.Response(404))
    with pytest.raises(NotRenderable, match="team-a/charts and team-a/twin are both for"):
        both.fetch(CHARTS, "gpt", "1.0.0")
    assert asked == []
