"""A TrainingBaseline's spec as the API server stores it → BaselineSpec.

The CRD's schema and CEL rules refuse most mistakes where they are made. What is checked again here is what a person
meets with an older CRD in the cluster, and what CEL cannot see.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mfu_operator.api import renamed
from mfu_operator.api.freezing import freezes
from mfu_operator.api.section import Section
from mfu_operator.model.baseline import (
    ApplicationRef,
    BaselineSpec,
    Budget,
    Comparable,
    Detection,
    ForgeKind,
    Level,
    MetricsSource,
    PodScrape,
    Profiling,
    ProfilingMode,
    RecordPlan,
    Remediation,
    RemediationMode,
    SecretRef,
    Spread,
    Watch,
    WorkloadRef,
)
from mfu_operator.model.git_ref import is_branch
from mfu_operator.model.proposal import Review
from mfu_operator.model.web_address import flaw, path_flaw

T = TypeVar("T")

APPLICATION_KINDS = ("Application", "Kustomization")
METRIC_NAMES = (
    "mfu", "stepTime", "throughput", "steps", "phase", "info", "runningRatio", "memoryAllocated", "memoryReserved",
    "memoryLimit", "hostMemory", "hostMemoryLimit", "nonfiniteLosses", "skippedSteps",
)  # fmt: skip
METRIC_LABELS = (
    "namespace", "pod", "workload",
    "model", "gpu", "gpus", "gpuCount", "worldSize", "globalBatch", "sequenceLength", "precision", "parallelism",
)  # fmt: skip
MOST_MFU = 1.5
"""Above it a number is taken for a percentage."""

LAST_PORT = 65535
LONGEST_DEADLINE_S = 4 * 3600.0
"""A profiling Job holds what its run holds: it waits for a node, warms up and records a few steps within this."""

MOST_ASKED, LONGEST_NAME = 15, 100
MOST_HOSTS = 10
"""Reviewers, assignees or labels of one pull request, and the characters of one: GitHub takes 15 and 50."""

MOST_RANKS = 64
"""Of a running job that one capture asks."""

MIN_STEPS = 5
"""Of which three are interior: fewer captured steps give no account."""


def spec(body: Mapping[str, Any]) -> BaselineSpec:
    """The decoded spec of a TrainingBaseline.

    Args:
        body: the whole object: apiVersion, kind, metadata, spec.

    Raises:
        Stall: (InvalidSpec) naming the field and what to write instead.
    """
    root = Section("spec", body.get("spec") or {})
    namespace = Section("metadata", body.get("metadata") or {}).required("namespace")
    baseline = root.section("baseline")
    if baseline.has("values") == baseline.has("record"):
        root.refuse("baseline", "must have exactly one of values and record; write the one and remove the other")
    values = baseline.section("values")
    return BaselineSpec(
        workload=_workload(root.section("workload"), namespace),
        comparable=_comparable(root.section("comparable")),
        declared=_level(values) if baseline.has("values") else None,
        declared_spread=_spread(values.section("spread")) if values.has("spread") else None,
        record=_record(baseline.section("record")) if baseline.has("record") else None,
        metrics=_metrics(root.section("metrics")),
        detection=_detection(root.section("detection")),
        watch=_watch(root.section("watch")),
        profiling=_profiling(root.section("profiling")),
        remediation=_remediation(root.section("remediation")),
        suspend=root.flag("suspend"),
        deprecated=tuple(renamed.deprecated(root)),
    )


def _workload(section: Section, namespace: str) -> WorkloadRef:
    if section.has("name") == section.has("selector"):
        how = "stands beside selector" if section.has("name") else "is missing, and so is selector"
        section.refuse("name", f"{how}; write the object's name, or the labels of pods whose runs are followed")
    return WorkloadRef(
        api_version=section.required("apiVersion"),
        kind=section.required("kind"),
        namespace=namespace,
        name=_name(section) if section.has("name") else "",
        container=section.text("container"),
        selector=_selector(section.section("selector")) if section.has("selector") else (),
    )


def _selector(section: Section) -> tuple[tuple[str, str], ...]:
    labels = section.text_map("matchLabels")
    if not labels:
        section.refuse("matchLabels", 'is empty; write labels of the pods, for example "{app: gpt}"')
    for key, value in labels.items():
        if not _LABEL.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            section.refuse("matchLabels", f"has {key!r}: {value!r}, which no pod can have")
    return tuple(sorted(labels.items()))


_LABEL = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


def _name(section: Section) -> str:
    name = section.required("name")
    if not re.fullmatch(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", name):
        section.refuse("name", f"is {name!r}; write the object's name: small letters, digits, dots and dashes")
    return name


def _comparable(section: Section) -> Comparable:
    return Comparable(
        model=section.required("model"),
        gpu=section.text("gpu"),
        gpu_count=section.count("gpuCount"),
        world_size=section.count("worldSize"),
        global_batch=section.count("globalBatch"),
        sequence_length=section.count("sequenceLength"),
        precision=section.text("precision"),
        parallelism=section.count_map("parallelism"),
    )


def _level(section: Section) -> Level:
    level = Level(
        mfu=section.positive("mfu"),
        step_time_s=section.positive("stepTimeSeconds"),
        throughput=section.positive("tokensPerSecondPerGpu"),
    )
    if level == Level():
        section.refuse("mfu", "is missing, and so are stepTimeSeconds and tokensPerSecondPerGpu; write one of them")
    if level.mfu is not None and level.mfu > MOST_MFU:
        section.refuse("mfu", f"is {level.mfu:g}; write the ratio (0.46), not a percentage (46)")
    return level


def _spread(section: Section) -> Spread:
    return Spread(
        within=_present(section, "within", section.positive("within")),
        between=section.number("between"),
        slow=_present(section, "slow", section.number("slow")),
        runs=_present(section, "runs", section.count("runs")),
    )


def _record(section: Section) -> RecordPlan:
    plan = RecordPlan(
        duration_s=_or(section.duration_s("duration"), 1800.0),
        warmup_s=_or(section.duration_s("warmup"), 300.0),
        runs=_or(section.count("runs"), 1),
        generation=_or(section.count("generation"), 1),
        reason=section.text("reason"),
    )
    if plan.generation > 1 and plan.reason is None:
        section.refuse("reason", "is missing; write why the level before no longer applies")
    if plan.duration_s <= 0:
        section.refuse("duration", 'is zero; write how long to record each run, for example "30m"')
    return plan


def _metrics(section: Section) -> MetricsSource:
    names, labels, prometheus = section.section("names"), section.section("labels"), section.section("prometheus")
    _known(names, METRIC_NAMES)
    _known(labels, METRIC_LABELS)
    source = MetricsSource(
        address=_address(prometheus, "address"),
        secret=_secret(prometheus),
        ca=_secret(prometheus, "caSecretRef"),
        certificate=_secret(prometheus, "certificateSecretRef"),
        tenant=prometheus.text("tenant"),
        pods=_pods(section.section("pods")) if section.has("pods") else None,
        profile=section.text("profile"),
        names=section.text_map("names"),
        labels=section.text_map("labels"),
        model_flops_per_token=section.positive("modelFlopsPerToken"),
        peak_flops_per_gpu=section.positive("peakFlopsPerGpu"),
    )
    if source.pods is not None and source.own_prometheus:
        section.refuse("pods", "and prometheus cannot both be the source; write the one and remove the other")
    return source


def _pods(section: Section) -> PodScrape:
    path = section.text("path")
    if path is not None and not path.startswith("/"):
        section.refuse("path", f'is {path!r}; begin it with a slash, for example "/metrics"')
    return PodScrape(ports=tuple(_port(section, port) for port in section.items("ports")), path=path)


def _port(section: Section, port: object) -> int | str:
    named = isinstance(port, str) and re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", port) and re.search("[a-z]", port)
    numbered = isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= LAST_PORT
    if not isinstance(port, int | str) or not (named or numbered):
        section.refuse("ports", f"holds {port!r}; write numbers from 1 to {LAST_PORT} or names of container ports")
    return port


def _detection(section: Section) -> Detection:
    default = Detection()
    tolerance = section.ratio("tolerance")
    if tolerance is not None and not 0.001 < tolerance <= 0.5:
        section.refuse("tolerance", f'is {tolerance:.3%}; write more than 0.1% and at most 50%, for example "5%"')
    return Detection(
        tolerance=tolerance,
        sustain_s=_or(section.duration_s("sustain"), default.sustain_s),
        confirm_s=_or(section.duration_s("confirm"), default.confirm_s),
        recover_s=_or(section.duration_s("recover"), default.recover_s),
        warmup_s=_or(section.duration_s("warmup"), default.warmup_s),
    )


def _watch(section: Section) -> Watch:
    default = Watch()
    hang, memory, loss = section.section("hang"), section.section("memory"), section.section("loss")
    return Watch(
        hang=hang.flag("enabled", default.hang),
        hang_s=hang.duration_s("after"),
        gated_hang_s=_or(hang.duration_s("gatedAfter"), default.gated_hang_s),
        memory=memory.flag("enabled", default.memory),
        memory_horizon_s=_or(memory.duration_s("horizon"), default.memory_horizon_s),
        loss=loss.flag("enabled", default.loss),
        nonfinite_losses=_or(loss.count("nonfiniteLosses"), default.nonfinite_losses),
        skipped_steps=_or(loss.count("skippedSteps"), default.skipped_steps),
    )


def _profiling(section: Section) -> Profiling:
    default = Profiling()
    steps = _or(section.count("steps"), default.steps)
    if steps < MIN_STEPS:
        section.refuse("steps", f"is {steps}; write at least {MIN_STEPS}: the first and the last are not counted")
    return Profiling(
        mode=_or(renamed.choice(section, "mode", ProfilingMode), default.mode),
        steps=steps,
        warmup_steps=_or(section.tally("warmupSteps"), default.warmup_steps),
        deadline_s=_deadline_s(section, default.deadline_s),
        image=section.text("image"),
        command=section.texts("command"),
        env=section.text_map("env"),
        writable_volumes=section.texts("writableVolumes"),
        priority_class=section.text("priorityClassName"),
        ranks=_ranks(section),
        capture_secret=_secret(section.section("capture")),
        queue=section.text("queue"),
        budget=_budget(section.section("budget")),
    )


def _budget(section: Section) -> Budget:
    return Budget(section.count("capturesPerDay"), section.tally("copyGpuMinutesPerDay"))


def _ranks(section: Section) -> int | None:
    ranks = section.count("ranks")
    if ranks is not None and ranks > MOST_RANKS:
        section.refuse("ranks", f"is {ranks}; write at most {MOST_RANKS}, or remove it: one rank of each node is asked")
    return ranks


def _deadline_s(section: Section, default_s: float) -> float:
    deadline_s = _or(section.duration_s("deadline"), default_s)
    if not 1 <= deadline_s <= LONGEST_DEADLINE_S:
        section.refuse("deadline", f"is {deadline_s:g} s; write at least 1s and at most {LONGEST_DEADLINE_S / 3600:g}h")
    return deadline_s


def _remediation(section: Section) -> Remediation:
    default = Remediation()
    forge = section.section("forge")
    mode = _or(renamed.choice(section, "mode", RemediationMode), default.mode)
    secret = _secret(forge)
    if mode is RemediationMode.PULL_REQUEST and secret is None:
        section.refuse("forge.secretRef", "is missing; name the Secret with the forge's token, or set mode: DryRun")
    return Remediation(
        mode=mode,
        application=_application(section.section("application")) if section.has("application") else None,
        forge=forge.choice("kind", ForgeKind),
        forge_address=_address(forge, "address"),
        secret=secret,
        credentials=tuple(_hosts(section)),
        repository=_repository(section),
        branch=_branch(section),
        path=_path(section),
        cool_down_s=_or(section.duration_s("coolDown"), default.cool_down_s),
        freeze=freezes(section),
        review=_review(section.section("pullRequest")),
    )


def _hosts(section: Section) -> Iterator[SecretRef]:
    items = section.items("credentials")
    if len(items) > MOST_HOSTS:
        section.refuse("credentials", f"has more than {MOST_HOSTS} items")
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            section.refuse("credentials", f"has {item!r}; write secretRef with the name of a Secret")
        secret = _secret(Section(f"{section.path}.credentials[{number}]", item))
        if secret is None:
            section.refuse(f"credentials[{number}].secretRef", "is missing; name a Secret")
        yield secret


def _review(section: Section) -> Review:
    return Review(
        reviewers=_names(section, "reviewers"),
        assignees=_names(section, "assignees"),
        labels=_few(section, "labels", section.texts("labels")),
        draft=section.flag("draft"),
        code_owners=section.flag("codeOwners", default=True),
    )


def _names(section: Section, field: str) -> tuple[str, ...]:
    return _few(section, field, tuple(name.strip().removeprefix("@") for name in section.texts(field)))


def _few(section: Section, field: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(texts) > MOST_ASKED or any(len(text) > LONGEST_NAME for text in texts):
        section.refuse(field, f"has more than {MOST_ASKED} items or one of more than {LONGEST_NAME} characters")
    return texts


def _application(section: Section) -> ApplicationRef:
    kind = section.required("kind")
    if kind not in APPLICATION_KINDS:
        section.refuse("kind", f"is {kind!r}; write Application (Argo CD) or Kustomization (Flux)")
    return ApplicationRef(kind=kind, namespace=section.required("namespace"), name=section.required("name"))


def _secret(section: Section, name: str = "secretRef") -> SecretRef | None:
    return SecretRef(section.section(name).required("name")) if section.has(name) else None


def _address(section: Section, name: str) -> str | None:
    """An http(s) base address without credentials, query and fragment."""
    address = section.text(name)
    if address is None:
        return None
    problem = flaw(address)
    if problem is not None:
        section.refuse(name, problem)
    return address.rstrip("/")


def _repository(section: Section) -> str | None:
    repository = section.text("repository")
    if repository and repository.startswith(("http://", "https://")) and "@" in urlsplit(repository).netloc:
        section.refuse("repository", "holds credentials; put them into the Secret that forge.secretRef names")
    problem = path_flaw(repository) if repository else None
    if problem is not None:
        section.refuse("repository", problem)
    return repository


def _branch(section: Section) -> str | None:
    branch = section.text("branch")
    if branch is not None and branch != "HEAD" and not is_branch(branch):
        section.refuse("branch", f"is {branch!r}, which Git does not take for a branch; write its name, like main")
    return branch


def _path(section: Section) -> str | None:
    path = section.text("path")
    if path and (path.startswith("/") or ".." in path.split("/")):
        section.refuse("path", f"is {path!r}; write it relative to the repository's root, without ..")
    return path


def _known(section: Section, keys: tuple[str, ...]) -> None:
    for key in section.values:
        if key not in keys:
            section.refuse(key, f"is unknown; the keys are {', '.join(keys)}")


def _present(section: Section, name: str, value: T | None) -> T:
    if value is None:
        section.refuse(name, "is missing; write it")
    return value


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
