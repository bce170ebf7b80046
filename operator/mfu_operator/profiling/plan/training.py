"""Which role and container train: by what asks for accelerators, else by what a command or a name says, never by
position."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mfu_operator.profiling.plan.commands import OVER_SSH, command_of, is_server, processes_of
from mfu_operator.profiling.plan.kinds import Role
from mfu_operator.profiling.plan.manifest import Manifest, containers_of, count_at, mapping_at, mappings_at, text_at

_ACCELERATOR = re.compile(
    r"^(nvidia\.com/(gpu(\.shared)?|mig-.+)|amd\.com/gpu|gpu\.intel\.com/.+|habana\.ai/gaudi|google\.com/tpu"
    r"|aws\.amazon\.com/neuron(core|device)?|huawei\.com/.+|cambricon\.com/.+|.+/(gpu|tpu|npu|vgpu))$"
)
"""Extended resources of accelerators, by the names of their device plugins."""

_NAMES = ("pytorch", "tensorflow", "mpi", "jax", "xgboost", "paddle", "node", "trainer", "train", "training", "worker",
          "ray-worker", "learner")  # fmt: skip
"""Names that the kinds' own controllers require of the container that trains, and those that people give it."""

_NAME_IT = "name the container that trains in spec.workload.container"
_ROLE_NAMES = re.compile(r"(^|[-_])(workers?|trainers?|train|training|nodes?|learners?)([-_]|$)")
"""Names that people give to roles that train."""

_SIDE_ROLES = re.compile(
    r"(^|[-_])(eval|evaluator|evaluation|infer|inference|serve|server|rollout|sampler|actor|generate|generator|data"
    r"|dataset|model|init|initializer|prep|prepare|download|downloader|export|monitor|tensorboard|ps|scheduler|driver"
    r"|launcher|test|validate)([-_]|$)"
)


@dataclass(frozen=True, slots=True)
class Training:
    """The pods that train. `roles` are all roles that do, the one named first; `pods` is None where it is not said.
    `launchers` are roles that start the ranks in the others' pods, by a daemon that hands them nothing of their
    container's environment.

    `gpus_per_pod` counts accelerators of any make, and claims of a resource claim as one each.
    """

    role: Role
    roles: tuple[Role, ...]
    container: Manifest
    pods: int | None
    processes_per_pod: int | None
    gpus_per_pod: int
    because: str
    launchers: tuple[Role, ...] = ()

    @property
    def container_name(self) -> str:
        """The container's name."""
        return text_at(self.container, "name") or ""


@dataclass(frozen=True, slots=True)
class Untold:
    """Why the role that trains cannot be told."""

    reason: str
    message: str


def accelerators(container: Manifest) -> int:
    """Accelerators that a container asks for."""
    resources = mapping_at(container, "resources")
    asked = {**mapping_at(resources, "requests"), **mapping_at(resources, "limits")}
    counts = [count_at(asked, name) or 0 for name in asked if _ACCELERATOR.match(str(name))]
    return sum(counts) + len(mappings_at(resources, "claims"))


def training_of(roles: Sequence[Role], container: str | None = None) -> Training | Untold:
    """The role and container that train.

    Args:
        roles: all roles of the workload.
        container: the name that `spec.workload.container` gives; it stands above everything else.
    """
    present = [role for role in roles if containers_of(role.template)]
    if not present:
        return Untold(
            "NoPodTemplate",
            "the manifest has no pod template with containers: where it runs on pods of another object (a RayJob on a "
            "RayCluster), name that one as the workload",
        )
    found = _found(present, container)
    return found if isinstance(found, Untold) else _with_launchers(found, _launchers(found, present))


def _found(roles: Sequence[Role], container: str | None) -> Training | Untold:
    if container is not None:
        return _named(roles, container)
    asking = [role for role in roles if any(accelerators(each) for each in containers_of(role.template))]
    if asking and all(role.holds_ranks for role in asking):
        asking = []  # the launcher's own ranks; those of its workers are more
    training = [role for role in asking if not _serves(role)]
    if asking and not training:
        names = ", ".join(role.name for role in asking)
        return Untold("NoTrainingContainer", f"what asks for accelerators answers requests ({names}); {_NAME_IT}")
    return _by_accelerator(training) if training else _by_words(roles)


def _launchers(training: Training, roles: Sequence[Role]) -> tuple[Role, ...]:
    """The roles whose command starts the ranks in this one's pods."""
    starting = tuple(role for role in roles if _starts_elsewhere(role))
    daemon = command_of(training.container)
    waits = daemon.is_daemon or (not daemon.words and training.role.name == "Worker")
    return starting if waits else ()


def _with_launchers(training: Training, launchers: tuple[Role, ...]) -> Training:
    """A launcher that holds ranks of its own trains as well."""
    beside = [role for role in launchers if role.holds_ranks and role not in training.roles]
    counts = [training.pods, *(role.pods for role in beside)]
    pods = None if None in counts else sum(count or 0 for count in counts)
    return replace(training, launchers=launchers, roles=(*training.roles, *beside), pods=pods)


def _starts_elsewhere(role: Role) -> bool:
    return any(command_of(each).launcher in OVER_SSH for each in containers_of(role.template))


def _serves(role: Role) -> bool:
    """Whether what asks for accelerators, or else everything, answers requests."""
    every = containers_of(role.template)
    asking = [each for each in every if accelerators(each)] or list(every)
    return all(is_server(each) for each in asking)


def _named(roles: Sequence[Role], name: str) -> Training | Untold:
    having = [role for role in roles for each in containers_of(role.template) if text_at(each, "name") == name]
    if not having:
        known = sorted({text_at(each, "name") or "" for role in roles for each in containers_of(role.template)})
        told = f"no role has a container {name!r} (there are: {', '.join(known)}); correct spec.workload.container"
        return Untold("ContainerNotFound", told)
    chosen = _chosen_role(having)
    if isinstance(chosen, Untold):
        return chosen
    found = next(each for each in containers_of(chosen.template) if text_at(each, "name") == name)
    return _training(chosen, having, found, f"spec.workload.container names {name!r}")


def _by_accelerator(roles: Sequence[Role]) -> Training | Untold:
    chosen = _chosen_role(roles)
    if isinstance(chosen, Untold):
        return chosen
    asking = [each for each in containers_of(chosen.template) if accelerators(each)]
    container = _only(asking)
    if container is None:
        names = ", ".join(text_at(each, "name") or "" for each in asking)
        return Untold(
            "AmbiguousContainer",
            f"containers {names} of role {chosen.name} ask for accelerators and none says that it trains; "
            "name the one that does in spec.workload.container",
        )
    alike = [role for role in roles if role is chosen or not _SIDE_ROLES.search(role.name.lower())]
    asked = accelerators(container)
    told = f"container {text_at(container, 'name')!r} of role {chosen.name} asks for {asked} accelerators"
    return _training(chosen, alike, container, told)


def _by_words(roles: Sequence[Role]) -> Training | Untold:
    """Without accelerators: a launcher's workers, what a command says, what a name says, the only container."""
    workers = _started(roles)
    if workers is not None:
        return _of_launcher(workers)
    every = [(role, each) for role in roles for each in containers_of(role.template) if not is_server(each)]
    candidates = next((found for found in _told_apart(every, roles) if found), ())
    if not candidates:
        names = ", ".join(
            f"{role.name}/{text_at(each, 'name')}" for role in roles for each in containers_of(role.template)
        )
        return Untold(
            "NoTrainingContainer",
            f"no container of {names} asks for an accelerator, calls a launcher or is named for training; {_NAME_IT}",
        )
    chosen = _chosen_role([role for role, _ in candidates])
    if isinstance(chosen, Untold):
        return chosen
    container = _only([each for role, each in candidates if role is chosen])
    if container is None:
        return Untold(
            "AmbiguousContainer", f"several containers of role {chosen.name} may train; name the one that does"
        )
    alike = [role for role, _ in candidates if not _SIDE_ROLES.search(role.name.lower())] or [chosen]
    return _training(chosen, alike, container, f"no container asks for an accelerator; {_said_by(container, every)}")


def _started(roles: Sequence[Role]) -> Role | None:
    """The role whose pods another role's launcher starts the ranks in: an MPIJob's workers, or what waits in sshd."""
    others = [role for role in roles if not _starts_elsewhere(role)]
    if len(others) == len(roles):
        return None
    waiting = [role for role in others if any(command_of(each).is_daemon for each in containers_of(role.template))]
    return next((role for role in (*waiting, *others) if role in waiting or role.name == "Worker"), None)


def _told_apart(
    every: Sequence[tuple[Role, Manifest]], roles: Sequence[Role]
) -> Iterator[Sequence[tuple[Role, Manifest]]]:
    """Roles and containers that may train, by what tells most first."""
    yield [(role, each) for role, each in every if command_of(each).trains]
    yield [(role, each) for role, each in every if text_at(each, "name") in _NAMES]
    yield [
        (role, each) for role, each in every if role.ends and _is_named(role) and len(containers_of(role.template)) == 1
    ]
    yield every if len(every) == 1 and roles[0].ends else ()


def _is_named(role: Role) -> bool:
    name = role.name.lower()
    return _ROLE_NAMES.search(name) is not None and not _SIDE_ROLES.search(name)


def _of_launcher(workers: Role) -> Training | Untold:
    container = _only(containers_of(workers.template))
    if container is None:
        return Untold(
            "AmbiguousContainer", f"several containers of role {workers.name} may train; name the one that does"
        )
    return _training(workers, [workers], container, "the launcher starts the ranks in this role's pods")


def _said_by(container: Manifest, every: Sequence[tuple[Role, Manifest]]) -> str:
    command = command_of(container)
    if command.launcher is not None:
        return f"its command calls {command.launcher}"
    if command.trains:
        return "its command names a training program"
    name = text_at(container, "name")
    if len(every) == 1:
        return "it is the only container"
    return f"container {name!r}, or its role, is named as one that trains"


def _chosen_role(roles: Sequence[Role]) -> Role | Untold:
    """The role that stands for those that train: the one of most pods, where none of them is named for other work."""
    distinct = list(_distinct(roles))
    if len(distinct) == 1:
        return distinct[0]
    main = [role for role in distinct if not _SIDE_ROLES.search(role.name.lower())] or distinct
    if len({_program(role) for role in main}) > 1 and not _same_family(main):
        trains = [role for role in main if _role_trains(role)]
        if len(trains) != 1:
            names = ", ".join(role.name for role in main)
            return Untold(
                "AmbiguousRole",
                f"roles {names} run different programs and each may be the one that trains; name its container in "
                "spec.workload.container",
            )
        return trains[0]
    return max(main, key=lambda role: (role.pods or 0, role.name in ("Worker", "worker")))


def _distinct(roles: Sequence[Role]) -> tuple[Role, ...]:
    """The roles, each once."""
    return tuple({role.path: role for role in roles}.values())


def _same_family(roles: Sequence[Role]) -> bool:
    """Master and Worker, head and its groups, leader and worker are one training program by their kind's own rules."""
    names = {role.name.lower() for role in roles}
    return names <= {"master", "worker", "chief", "leader", "head"} or all(role.name.isdecimal() for role in roles)


def _program(role: Role) -> tuple[str, ...]:
    """What a role runs: the image of what asks for accelerators, and the program's files in its command."""
    container = next((each for each in containers_of(role.template) if accelerators(each)), None)
    if container is None:
        container = containers_of(role.template)[0]
    files = tuple(word for word in command_of(container).words if word.endswith((".py", ".sh")))
    return (text_at(container, "image") or "", *files)


def _role_trains(role: Role) -> bool:
    named = re.search(r"train|learner|worker", role.name.lower()) is not None
    return named or any(command_of(each).trains for each in containers_of(role.template))


def _only(containers: Sequence[Manifest]) -> Manifest | None:
    """The one container, or the one of several that says that it trains; None where that does not tell."""
    saying = [each for each in containers if command_of(each).trains]
    named = [each for each in containers if text_at(each, "name") in _NAMES]
    return next((told[0] for told in (containers, saying, named) if len(told) == 1), None)


def _training(role: Role, alike: Sequence[Role], container: Manifest, because: str) -> Training:
    others = [each for each in _distinct(alike) if each is not role]
    counts = [each.pods for each in (role, *others)]
    pods = None if None in counts else sum(count or 0 for count in counts)
    gpus = accelerators(container)
    also = f"; {', '.join(each.name for each in others)} trains as well" if others else ""
    processes = processes_of(command_of(container), container, role.processes_per_pod, gpus)
    return Training(role, (role, *others), container, pods, processes, gpus, because + also)
