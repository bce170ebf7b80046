"""kubectl mfu capture: capture a running job now, or say from any manifest how the operator would."""

import json
import sys
from pathlib import Path

import click
import yaml

from mfu_operator.cli.capture.documents import FILE, documents, kind_and_name
from mfu_operator.cli.connection import baseline_names, connected, connection_options, kubectl_arguments
from mfu_operator.cli.manifest import read_manifest, spec_of
from mfu_operator.cli.printing.account import account_markdown, block
from mfu_operator.cli.printing.objects import yaml_of
from mfu_operator.cli.printing.options import output_option, refused_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.markdown import escape
from mfu_operator.model.terminal_text import for_terminal
from mfu_operator.profiling.live.policies import policies
from mfu_operator.profiling.plan import Plan, encode, plan_of

UNREADABLE = 3
"""Exit code for a document that cannot be read; wrong usage is 2, as click has it."""


@click.command("capture")
@click.argument("name", required=False, shell_complete=baseline_names)
@click.option("-f", "--filename", type=FILE, help="The workload's manifest, of one or several documents.")
@click.option("--pods", type=FILE, help="The run's pods as `kubectl get pods -o yaml` prints them.")
@click.option("--baseline", type=FILE, help="A TrainingBaseline: its container, command and profiling settings.")
@click.option("--workload", metavar="KIND/NAME", help="The workload, where the file holds several that run pods.")
@click.option("--dry-run", is_flag=True, help="With -f: print the plan; nothing is sent anywhere.")
@click.option("--print-policies", is_flag=True, help="Print the network policies that a capture needs, and end.")
@click.option("-n", "--namespace", help="Of the baseline, or of the policies; default: the current context's.")
@connection_options
@click.option("--ranks", type=click.IntRange(1, 64), help="With NAME: how many ranks are asked.")
@click.option("--steps", type=click.IntRange(5, 30), help="With NAME: how many steps are recorded.")
@click.option(
    "--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="With NAME: keep the traces there."
)
@click.option("--image", help="With NAME: the profiler image, unless the baseline names one.")
@output_option("text", "json", "yaml", "markdown", "html")
@refused_option("-w", "--watch", because="a capture is made once and waited for; kubectl logs -f follows its Job")
def capture_command(
    name: str | None,
    filename: Path | None,
    pods: Path | None,
    baseline: Path | None,
    workload: str | None,
    dry_run: bool,
    print_policies: bool,
    namespace: str | None,
    ranks: int | None,
    steps: int | None,
    keep: Path | None,
    image: str | None,
    output: str,
) -> None:
    """Capture a baseline's running job now, or say how the operator would capture any workload.

    A capture by hand is not counted against spec.profiling.budget: it has the rights of who asks, and is never a copy.

    \b
    kubectl mfu capture gpt-small --ranks 8          now, by the Job that the operator would launch
    kubectl mfu capture gpt-small --keep traces      and keep every rank's trace
    kubectl mfu capture -f job.yaml --dry-run        the plan, without a cluster
    kubectl get pytorchjob gpt -o yaml | kubectl mfu capture -f - --dry-run -o json
    kubectl mfu capture --print-policies -n team-a   what lets the Job reach the training pods
    """
    if print_policies:
        click.echo(_POLICIES_HEAD + yaml.safe_dump_all(policies(namespace or "default"), sort_keys=False).rstrip())
    elif name is not None and filename is None and not dry_run:
        _captured(name, namespace, image, ranks, steps, keep, output)
    elif filename is not None and name is None and dry_run:
        _planned(filename, pods, baseline, None if workload is None else kind_and_name("--workload", workload), output)
    else:
        raise click.UsageError("write NAME, or -f FILE with --dry-run, or --print-policies")


_POLICIES_HEAD = """# Untested on a network that enforces them. mfu-capture-ranks selects all pods of the namespace:
# apply it where a policy isolates those pods already; elsewhere it would be the first to do so.
# Pods on the host network are not selected.
"""


def _captured(
    name: str, namespace: str | None, image: str | None, ranks: int | None, steps: int | None, keep: Path | None,
    output: str,
) -> None:  # fmt: skip
    from mfu_operator.adapters.cluster import KubernetesCluster  # half a second that a plan does not need
    from mfu_operator.cli import baselines, render
    from mfu_operator.cli.capture.by_hand import capture_now
    from mfu_operator.cli.capture.held_traces import HeldTraces
    from mfu_operator.trace import termination_message as compact

    def tell(text: str) -> None:
        click.echo(for_terminal(text), err=True)

    traces = None
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        traces = HeldTraces(keep, tell, connection=kubectl_arguments())
    cluster, baseline = KubernetesCluster(connected()), baselines.one(namespace, name)
    account = capture_now(cluster, baseline, image, ranks, steps, tell, traces)
    if output in ("json", "yaml"):
        told = compact.encode(account)
        click.echo(told if output == "json" else yaml_of(told))
    elif output == "text":
        click.echo(render.account_text(account, None, None))
    else:
        title = f"A step of {name}, captured now"
        page = account_markdown(title, account, None, None)
        click.echo(page if output == "markdown" else as_page(title, page))


def _planned(
    filename: Path, pods: Path | None, baseline: Path | None, named: tuple[str, str] | None, output: str
) -> None:
    try:
        found = plan_of(
            documents(filename),
            None if pods is None else documents(pods),
            named,
            None if baseline is None else spec_of(read_manifest(baseline)),
        )
    except Unreadable as error:
        click.echo(f"kubectl-mfu: {for_terminal(error.message)}", err=True)
        sys.exit(UNREADABLE)
    if output in ("json", "yaml"):
        told = json.dumps(encode(found), indent=2, default=str)
        click.echo(told if output == "json" else yaml_of(told))
    elif output == "text":
        click.echo(for_terminal(_text(found)))
    else:
        title = f"How to capture {encode(found)['workload']['name']}"
        page = f"# {escape(title)}\n\n{block(for_terminal(_text(found)))}"
        click.echo(page if output == "markdown" else as_page(title, page))


def _text(plan: Plan) -> str:
    encoded = encode(plan)
    workload, training = encoded["workload"], encoded["training"]
    lines = [f"workload   {workload['kind']}/{workload['name']}, pods by {workload['how']}"]
    if training is not None:
        counts = f"{_count(training['pods'])} pods × {_count(training['processesPerPod'])} processes"
        gpus = f"{training['gpusPerPod']} accelerators each"
        lines.append(f"training   role {training['role']}, container {training['container']}: {counts}, {gpus}")
        lines.append(f"           {training['because']}")
    way = "none yet" if plan.way is None else f"{plan.way} with {plan.recorder}"
    lines += [f"way        {way}: {plan.because}"]
    lines += [f"not taken  {each.way} with {each.recorder}: {each.reason}: {each.message}" for each in plan.refused]
    for change in plan.copy.changed if plan.copy is not None else ():
        lines.append(f"changed    {change.field}: {change.before} → {change.after} ({change.why})")
    for patch in encoded["instrument"] or ():
        target = patch["target"]
        lines.append(f"to add     kubectl patch {target['kind'].lower()} {target['name']} --type=json -p '")
        lines.append(yaml.safe_dump(patch["patch"], sort_keys=False, width=120).rstrip() + "'")
    return "\n".join(lines)


def _count(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
