"""What a person does next, as commands that can be pasted."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from mfu_operator.cli.onboard.files import BASELINE, PATCH
from mfu_operator.cli.onboard.mesh import ANNOTATIONS, Mesh, ports_of
from mfu_operator.cli.onboard.policies import isolating
from mfu_operator.cli.onboard.subject import Subject
from mfu_operator.profiling.plan.instrument import RUN, Patch
from mfu_operator.profiling.plan.live import SECRET

SOMEWHERE = "NAMESPACE"
"""Stands in a command for a namespace that nobody named."""


def next_steps(
    subject: Subject, folder: Path, manifest: Path | None, patches: Sequence[Patch], mesh: Mesh | None, name: str
) -> Iterator[str]:
    """Lines, each command on one of its own.

    Args:
        subject: the workload.
        folder: where the files are.
        manifest: the file that holds the workload alone; None: it is of the cluster, or has others beside it.
        patches: what instruments it; none where it is instrumented.
        mesh: the mesh that it is in, where the manifest says so.
        name: of the TrainingBaseline.
    """
    namespace = shlex.quote(subject.namespace) if subject.namespace else SOMEWHERE
    yield from _commit(folder, manifest, patches)
    if patches:
        yield from _image(patches)
    yield "The Secret with the token of the capture API, never in Git:"
    yield _secret(namespace)
    yield from _network(subject, namespace)
    yield from _mesh(subject, mesh, namespace)
    yield "Then, once the operator has looked at it and the next run has begun:"
    yield f"  kubectl mfu status {name} -n {namespace}"
    yield f"  kubectl mfu doctor {name} -n {namespace}"
    yield f"  kubectl mfu capture {name} -n {namespace}"


def _commit(folder: Path, manifest: Path | None, patches: Sequence[Patch]) -> Iterator[str]:
    place = shlex.quote(str(folder))
    yield f"With Kustomize, add to the kustomization.yaml beside the folder: components: [{folder.name}]"
    if not patches:
        yield "The workload is instrumented already. Without Kustomize:"
    else:
        yield "Without Kustomize, patch the manifest and apply the baseline:"
    if patches and manifest is not None:
        source = shlex.quote(str(manifest))
        yield f"  kubectl patch --local -f {source} --type=json --patch-file {place}/{PATCH} -o yaml > patched.yaml"
    elif patches:
        target = patches[0].target
        yield f"  apply {place}/{PATCH} to the manifest of {target.kind} {target.name} in Git"
    yield f"  kubectl apply -f {place}/{BASELINE}"
    if patches:
        yield "Pods that run now are not changed: a capture needs the next run."


def _image(patches: Sequence[Patch]) -> Iterator[str]:
    wrapped = any(
        tuple(each["value"][: len(RUN)]) == RUN
        for patch in patches
        for each in patch.operations
        if isinstance(each["value"], list)
    )
    yield "The training image needs mfu_probe (pip install ./operator/mfu_probe; no other package)."
    if not wrapped:
        yield (
            "The manifest does not say the training command, so the patch cannot put `mfu_probe run` before it: call "
            "mfu_probe.start() in the training program, or run it as `mfu_probe run -- COMMAND`."
        )


def _secret(namespace: str) -> str:
    return (
        f"  openssl rand -hex 32 | kubectl create secret generic {SECRET} -n {namespace} --from-file=token=/dev/stdin"
    )


def _network(subject: Subject, namespace: str) -> Iterator[str]:
    command = f"  kubectl mfu capture --print-policies -n {namespace} | kubectl apply -f -"
    found = isolating(subject)
    if found is None:
        yield "Only where a NetworkPolicy isolates the pods of the namespace (kubectl get networkpolicies):"
        yield command
    elif found:
        yield f"NetworkPolicies isolate the pods ({', '.join(found)}); these let the profiling Job in:"
        yield command
    else:
        yield "No NetworkPolicy of the namespace isolates the pods, so a capture needs none."


def _mesh(subject: Subject, mesh: Mesh | None, namespace: str) -> Iterator[str]:
    ports = ",".join(map(str, ports_of(subject)))
    if mesh is not None and subject.workload.get("kind") == "TrainJob":
        yield f"The pods are in {mesh}, and a TrainJob cannot annotate them. In its runtime's pod template:"
        yield f'  {ANNOTATIONS[mesh]}: "{ports}"'
    elif mesh is not None:
        yield f"The pods are in {mesh}: the patch has the ports of a capture ({ports}) go past its proxies."
    elif subject.surroundings.namespace is None:
        yield "Only in a service mesh with sidecars, write them with --mesh istio (or linkerd), or annotate the pods:"
        yield from (f'  {each}: "{ports}"' for each in ANNOTATIONS.values())
        yield f"  kubectl get namespace {namespace} --show-labels"
