"""What of a configuration file does not reach the program: another value is given where it is started, or another file
is taken for it.

Both are common: options come before the file (Hydra, torchtitan, Lightning, most parsers of their own), and Hydra reads
of a folder only the files that its lists of defaults select.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from mfu_operator.gitops.fingerprints import of_evaluation
from mfu_operator.gitops.rendered.difference import Difference
from mfu_operator.gitops.rendered.leaf import Leaf
from mfu_operator.gitops.rendered.workload import Delivered

_OPTION = " --"
_DEFAULTS = re.compile(r"defaults\[\d{1,4}\](?:\.(?:optional )?(?:override )?(.{1,200}))?\Z")
_YAML = (".yaml", ".yml")


def unread(difference: Difference, side: Delivered) -> str:
    """Why the value of a file is not what the program gets; "" where nothing says so.

    Args:
        difference: of a value that stands in a file of a ConfigMap.
        side: what the workload gets where it is slow.
    """
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
