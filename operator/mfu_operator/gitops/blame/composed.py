"""What of a file does not reach the program, or may not: another value is given where it is started, another file is
taken for it, or the script has several runs or branches.

All are common: options come before the file (Hydra, torchtitan, Lightning, most parsers of their own), Hydra reads of a
folder only the files that its lists of defaults select, and scripts have a branch for each environment.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from mfu_operator.gitops.fingerprints import of_evaluation
from mfu_operator.gitops.rendered.commands import EARLIER
from mfu_operator.gitops.rendered.difference import Difference
from mfu_operator.gitops.rendered.leaf import Leaf
from mfu_operator.gitops.rendered.workload import Delivered

_OPTION = " --"
_DEFAULTS = re.compile(r"defaults\[\d{1,4}\](?:\.(?:optional )?(?:override )?(.{1,200}))?\Z")
_YAML = (".yaml", ".yml")
_DEFAULT = re.compile(r"\$\{(?:([A-Za-z_]\w{0,200}):?-|oc\.env:([A-Za-z_]\w{0,200}),)[^{}]{0,1000}\}", re.DOTALL)
_EARLIER = re.compile(rf" {EARLIER}\d{{1,6}} ")
_BRANCH = re.compile(r"(?:^|[\s;&|])(?:if|elif|else|case)\s")


def unread(difference: Difference, good: Delivered, side: Delivered) -> str:
    """Why the program does not get the value, or may not; "" where nothing says so.

    Args:
        difference: of a value of the workload.
        good: what the workload gets where it was fast.
        side: the same where it is slow.
    """
    variable = _default_unused(difference, side)
    if variable:
        return f"{variable} is given, so that the default does not count"
    if _set_by_script(difference, side):
        return f"the script sets {difference.name} itself"
    if _one_of_several(difference, good, side):
        return "the script gives it more than once, and not every time alike"
    return _hidden(difference, side)


def _default_unused(difference: Difference, side: Delivered) -> str:
    """The variable that is set, where only its default was changed (`${WORKERS:-8}`, `${oc.env:WORKERS,8}`)."""
    old, new = (_DEFAULT.fullmatch(str(each)) for each in (difference.old, difference.new))
    name = (old[1] or old[2]) if old else ""
    if not old or not new or name != (new[1] or new[2]):
        return ""
    given = (leaf for leaf in side.leaves.values() if not leaf.file and leaf.name in (name, f"data.{name}"))
    return name if next(given, None) is not None else ""


def _set_by_script(difference: Difference, side: Delivered) -> bool:
    """Whether a variable of a container is set, or unset, by what the container runs."""
    if ".env[" not in difference.field:
        return False
    return any(
        (leaf.key.endswith(f" env {difference.name}") and f"${{{difference.name}" not in str(leaf.value))
        or (leaf.name == "words" and "unset word" in leaf.key and leaf.value == difference.name)
        for leaf in side.leaves.values()
    )


def _one_of_several(difference: Difference, good: Delivered, side: Delivered) -> bool:
    """Whether other runs or branches of the script give the same option, and not all were changed alike.

    Without branches the last one counts: what it says is said.
    """
    plain = _EARLIER.sub(" ", difference.key)
    alike = {key for each in (good, side) for of, key in each.leaves
             if of == difference.identity and _EARLIER.sub(" ", key) == plain}  # fmt: skip
    if len(alike) < 2 or (difference.key == plain and not _BRANCH.search(str(difference.after or difference.before))):
        return False
    return any(_value(each, difference, key) != wanted for key in alike
               for each, wanted in ((good, difference.old), (side, difference.new)))  # fmt: skip


def _value(side: Delivered, difference: Difference, key: str) -> object:
    found = side.leaves.get((difference.identity, key))
    return None if found is None else found.value


def _hidden(difference: Difference, side: Delivered) -> str:
    """Why the value of a configuration file is not what the program gets."""
    if not difference.file or _OPTION in difference.key or not difference.identity.startswith("ConfigMap/"):
        return ""
    option = next((leaf for leaf in _options(side) if _same_value(leaf.name, difference.name)), None)
    if option is not None:
        return f"{option.field} gives {option.name} too, which comes before the file"
    selected = _selected(side)
    name = _stem(difference.file)
    if not selected or not difference.file.endswith(_YAML) or name in selected or name in _given(side).values():
        return ""
    return f"the lists of defaults select {', '.join(sorted(selected)[:3])} and not {name}"


def _options(side: Delivered) -> Iterator[Leaf]:
    """The options of what trains."""
    for leaf in side.leaves.values():
        if _OPTION in leaf.key and not leaf.beside and not of_evaluation(leaf.name):
            yield leaf


def _same_value(option: str, key: str) -> bool:
    """Whether an option is of a file's value: the path of one ends as the other (`num_workers`, `data.num_workers`)."""
    one, other = option.split("."), key.removeprefix(".").split(".")
    return one[-len(other) :] == other or other[-len(one) :] == one


def _selected(side: Delivered) -> frozenset[str]:
    """The names of the files that Hydra composes; empty where there is no list of defaults.

    What is selected where the program is started (`data=small`) comes before the lists.
    """
    given, found = _given(side), set[str]()
    for leaf in side.leaves.values():
        entry = _DEFAULTS.fullmatch(leaf.name) if leaf.file.endswith(_YAML) else None
        if entry is not None:
            group = (entry[1] or "").partition("@")[0].strip("/")
            found |= {given.get(group.replace("/", "."), _stem(str(leaf.value))), _stem(leaf.file)}
    return frozenset(found - {"_self_", "null"})


def _given(side: Delivered) -> dict[str, str]:
    return {leaf.name: _stem(str(leaf.value)) for leaf in _options(side)}


def _stem(name: str) -> str:
    return PurePosixPath(name.partition("@")[0]).name.removesuffix(".yaml").removesuffix(".yml")
