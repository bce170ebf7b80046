"""kubectl mfu suspects: which commit did it, on any clone, without a cluster."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from mfu_operator.cli.printing.objects import yaml_of
from mfu_operator.cli.printing.options import output_option, refused_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.blame import answer as told
from mfu_operator.gitops.fingerprints import table
from mfu_operator.gitops.rendered.objects import things
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.rendered.workload import Wanted, has_pods
from mfu_operator.gitops.sources.plan import Engine
from mfu_operator.investigate.answer import answer
from mfu_operator.investigate.request import Request
from mfu_operator.model.terminal_text import for_terminal

UNREADABLE = 3
"""Exit code for a repository or a manifest that cannot be read; wrong usage is 2, as click has it."""

NO_CLUSTER = "it asks no cluster, but the repositories that it is given"


@click.command("suspects")
@click.option("--repo", required=True, metavar="PATH|URL", help="The clone, or an address that git can clone.")
@click.option(
    "--good",
    required=True,
    multiple=True,
    metavar="REV",
    help="The revision that was fast; REPO=REV for another source.",
)
@click.option(
    "--bad", required=True, multiple=True, metavar="REV", help="The revision that is slow; REPO=REV for another source."
)
@click.option(
    "--workload",
    required=True,
    metavar="FILE|KIND/NAME",
    help="The job that became slow: its manifest, or Job/gpt-small.",
)
@click.option(
    "--cause",
    required=True,
    metavar="CAUSE|FILE.json",
    help="The cause or bottleneck by name, or what `analyze -o json` wrote.",
)
@click.option(
    "--application",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Manifests of the delivery tool: an Argo CD Application; Flux objects. Repeatable.",
)
@click.option("--path", default="", metavar="DIR", help="The folder that is deployed, without --application.")
@click.option(
    "--values",
    multiple=True,
    metavar="REPO=PATH",
    help="A local clone of another repository that the application, or a kustomization's base, names.",
)
@click.option(
    "--chart",
    multiple=True,
    metavar="REPO/NAME@VERSION=PATH",
    help="The folder of a chart that a chart repository would send.",
)
@click.option(
    "--good-image",
    multiple=True,
    metavar="REF@DIGEST",
    help="The digest that an image reference had where it was fast.",
)
@click.option("--bad-image", multiple=True, metavar="REF@DIGEST", help="The digest that it has where it is slow.")
@click.option("--kube-version", metavar="V", help="The Kubernetes version to render charts for.")
@click.option("--api-versions", multiple=True, metavar="A", help="API versions to render charts for. Repeatable.")
@click.option(
    "--renderer",
    type=click.Choice([engine.value for engine in Engine]),
    default="auto",
    show_default=True,
    help="What renders the folder.",
)
@click.option(
    "--refused", multiple=True, metavar="SHA", help="A commit whose revert was refused: nothing is proposed for it."
)
@output_option("text", "json", "yaml", "markdown", "html")
@refused_option("-w", "--watch", because="it reads revisions, which do not change")
@refused_option("-n", "--namespace", because="it asks no cluster; write --workload KIND/NAMESPACE/NAME")
@refused_option("--context", because=NO_CLUSTER)
@refused_option("--kubeconfig", because=NO_CLUSTER)
def suspects_command(**given: Any) -> None:
    """Say which commit between two revisions made a workload slow.

    Every commit of the window is rendered as the delivery tool would, and judged by what it changed of what this
    workload gets. One is named only where it alone stands out; nothing is pushed, and nothing of the repository runs.

    \b
    kubectl mfu suspects --repo . --good v12 --bad HEAD --path apps/gpt/overlays/production \\
        --workload Job/gpt-small --cause DataLoaderWorkers
    kubectl mfu suspects --repo . --good 4f2c1d0 --bad main --application gpt-application.yaml \\
        --workload gpt.yaml --cause account.json -o json

    Exit codes: 0 answered (a commit, or that none can be named), 2 wrong usage, 3 something cannot be read.
    """
    try:
        found = answer(_request(given))
    except Unreadable as error:
        click.echo(f"kubectl-mfu: {error.reason}: {' '.join(error.message.split())}", err=True)
        sys.exit(UNREADABLE)
    if given["output"] in ("json", "yaml"):
        text_of = told.encode(found)
        click.echo(text_of if given["output"] == "json" else yaml_of(text_of))
    elif given["output"] == "text":
        from mfu_operator.cli.suspects.text import text  # a script that asks for JSON does not pay for it

        click.echo(for_terminal(text(found)))
    else:
        from mfu_operator.cli.suspects.markdown import markdown

        told_as = markdown(found)
        click.echo(told_as if given["output"] == "markdown" else as_page("Suspects", told_as))


def _request(given: dict[str, Any]) -> Request:
    good, bad = _revisions("--good", given["good"]), _revisions("--bad", given["bad"])
    others = {name: (good.get(name), bad.get(name)) for name in {*good, *bad} - {""}}
    return Request(
        repository=given["repo"],
        good=good[""],
        bad=bad[""],
        wanted=_wanted(given["workload"]),
        cause=_cause(given["cause"]),
        applications=tuple(manifest for file in given["application"] for manifest in _manifests(file)),
        path=given["path"],
        others=others,
        clones=dict(_pair("--values", text) for text in given["values"]),
        charts={name: _folder(path) for name, path in (_pair("--chart", text) for text in given["chart"])},
        engine=Engine(given["renderer"]),
        kube_version=given["kube_version"],
        api_versions=given["api_versions"],
        good_images=dict(_image(text) for text in given["good_image"]),
        bad_images=dict(_image(text) for text in given["bad_image"]),
        refused=given["refused"],
    )


def _revisions(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, revision = text.rpartition("=")
        if (name if equals else "") in found:
            raise click.UsageError(f"{option} is given twice for {name or 'the first source'}")
        found[name if equals else ""] = revision
    if "" not in found:
        raise click.UsageError(f"{option} REV is missing: the revision of --repo, without REPO=")
    return found


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name or not value:
        raise click.UsageError(f"{option} {text}: NAME=PATH is expected")
    return name, value


def _folder(path: str) -> Path:
    found = Path(path).resolve()
    if not (found / "Chart.yaml").is_file():
        raise click.UsageError(f"--chart: {path} is not a folder of a chart (it has no Chart.yaml)")
    return found


def _image(text: str) -> tuple[str, str]:
    reference, at, digest = text.partition("@")
    if not at or not digest.startswith("sha256:"):
        raise click.UsageError(f"{text}: REF@sha256:… is expected")
    return reference, digest


def _wanted(text: str) -> Wanted:
    file = Path(text)
    if file.is_file():
        try:
            found = [thing for thing in things(file.read_text("utf-8", "replace")) if has_pods(thing)]
        except UnreadableText as error:
            raise Unreadable("ManifestUnreadable", f"{text} is {error}") from error
        if not found:
            raise Unreadable("ManifestUnreadable", f"{text} holds no object that makes pods")
        return Wanted(found[0].kind, found[0].name, found[0].namespace or None)
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise click.UsageError(f"--workload {text}: a manifest's file, or KIND/NAME, is expected")
    return Wanted(parts[0].partition(".")[0], parts[-1], parts[1] if len(parts) == 3 else None)


def _manifests(file: Path) -> list[dict[str, Any]]:
    try:
        documents = yaml_documents(file.read_text("utf-8", "replace"))
    except (UnreadableText, OSError) as error:
        raise Unreadable("ManifestUnreadable", f"{file} cannot be read: {error}") from error
    return [document for document in documents if isinstance(document, dict)]


def _cause(text: str) -> str | None:
    known = {*table().causes, *(entry.bottleneck for entry in table().causes.values()), *table().no_commit}
    if text in known or text == "Inconclusive":
        return text
    file = Path(text)
    if not file.is_file():
        raise click.UsageError(f"--cause {text} is neither a file nor one of: {', '.join(sorted(known))}")
    try:
        content = msgspec.json.decode(file.read_bytes())
    except (msgspec.DecodeError, OSError) as error:
        raise Unreadable("ManifestUnreadable", f"{text} is not what `analyze -o json` writes: {error}") from error
    found = content.get("diagnosis", content) if isinstance(content, dict) else None
    if not isinstance(found, dict) or not {"cause", "bottleneck"} & found.keys():
        raise Unreadable("ManifestUnreadable", f"{text} holds no diagnosis: write it with `analyze -o json`")
    named = found.get("cause") if found.get("cause") in known else found.get("bottleneck")
    return str(named) if named else None
