"""The command."""

from pathlib import Path

import click

from mfu_operator.cli.capture.documents import FILE, documents, kind_and_name
from mfu_operator.cli.connection import connection_options, current_namespace
from mfu_operator.cli.onboard.files import LONGEST_NAME, baseline, name_for, texts, together, write
from mfu_operator.cli.onboard.mesh import Mesh, exclusions, mesh_of
from mfu_operator.cli.onboard.subject import Subject, Surroundings, subject_of
from mfu_operator.cli.onboard.told import next_steps
from mfu_operator.model.terminal_text import for_terminal


@click.command("onboard")
@click.argument("workload", required=False, metavar="KIND/NAME")
@click.option(
    "-f", "--filename", type=FILE, help="The workload's manifest in place of the cluster's; - is the standard input."
)
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Where the files are written; default: mfu-NAME.")  # fmt: skip
@click.option("--name", help="The TrainingBaseline's name; default: the workload's.")
@click.option("--model", help="What is trained, for spec.comparable.model; default: the name.")
@click.option("--container", help="The container that trains, where the manifest does not tell.")
@click.option(
    "--mesh", type=click.Choice([*map(str, Mesh), "none"]), help="The service mesh of the pods; default: as they say."
)
@click.option("-n", "--namespace", help="The workload's namespace; default: that of the current context.")
@connection_options
def onboard_command(
    workload: str | None,
    filename: Path | None,
    to: Path | None,
    name: str | None,
    model: str | None,
    container: str | None,
    mesh: str | None,
    namespace: str | None,
) -> None:
    """Write the files that put a workload under watch, for Git, and print the commands that go with them.

    Written are a TrainingBaseline, the patch by which the running job can be captured, and a Kustomize component of
    both. Nothing is changed in the cluster, and no file is overwritten.

    \b
    kubectl mfu onboard PyTorchJob/gpt-small -n team-a
    kubectl mfu onboard -f job.yaml --to deploy/mfu
    """
    named = None if workload is None else kind_and_name("KIND/NAME", workload)
    if filename is not None:
        found = subject_of(documents(filename), named, container, namespace, Surroundings())
    elif named is not None:
        found = _in_cluster(named, container, namespace or current_namespace())
    else:
        raise click.UsageError("write KIND/NAME, such as PyTorchJob/gpt, or -f FILE with its manifest")
    chosen = mesh_of(found) if mesh is None else None if mesh == "none" else Mesh(mesh)
    patches = together([*(found.plan.instrument or ()), *(exclusions(found, chosen) if chosen is not None else ())])
    called = name or name_for(found)
    if len(called) > LONGEST_NAME:
        raise click.UsageError(f"--name {called} is longer than {LONGEST_NAME} characters")
    folder = to or Path(f"mfu-{called}")
    files = texts(baseline(found, called, model), patches)
    write(folder, files)
    click.echo(f"Written into {folder}: {', '.join(files)}")
    alone = filename is not None and str(filename) != "-" and len(documents(filename)) == 1
    for line in next_steps(found, folder, filename if alone else None, patches, chosen, called):
        click.echo(for_terminal(line))


def _in_cluster(named: tuple[str, str], container: str | None, namespace: str) -> Subject:
    from mfu_operator.cli.onboard.in_cluster import (  # half a second that a file does not need
        documents_of,
        surroundings,
    )

    found = documents_of(*named, namespace)
    return subject_of(found, None, container, namespace, surroundings(namespace))
