"""What the blame is made from, in few words: differences, commits that made them, and the window that holds them."""

from collections.abc import Iterable

from mfu_operator.gitops.blame.model import Step
from mfu_operator.gitops.rendered.difference import Difference
from mfu_operator.gitops.rendered.leaf import Leaf
from mfu_operator.gitops.rendered.workload import Delivered
from mfu_operator.model.commit import Commit

CONFIG = "ConfigMap/gpt-config"


def changed(
    name: str,
    old: str | None,
    new: str | None,
    of: str = CONFIG,
    key: str = "",
    text: bool = False,
    file: str = "",
    container: str = "",
    beside: str = "",
) -> Difference:
    """A value that is another one; None: it is not there. The key is its name unless it is given."""
    return Difference(
        of, of, key or name, name, key or name, old, new, old, new, old is not None, new is not None, text, file,
        container, beside,
    )  # fmt: skip


def commit(sha: str, subject: str = "", parents: int = 1) -> Commit:
    """A commit whose id is a letter over and over."""
    return Commit(sha * 40, ("0" * 40,) * parents, "Pat", 0.0, subject or f"commit {sha}", ())


def step(sha: str, *found: Difference, parents: int = 1, source: str = "models") -> Step:
    """A commit that changes this of what the workload gets."""
    return Step(commit(sha, parents=parents), source, found)


def unrendered(sha: str, why_not: str = "no kustomize") -> Step:
    """A commit of which one side could not be rendered."""
    return Step(commit(sha), "models", None, why_not)


def leaf(name: str, value: str, of: str = CONFIG, file: str = "", field: str = "", key: str = "") -> Leaf:
    """A value that the workload gets."""
    return Leaf(of, key or name, name, value, field or name, value, file=file)


def gets(*leaves: Leaf, missing: Iterable[str] = (), containers: dict[str, bool] | None = None) -> Delivered:
    """What the workload gets; the objects are those of its values."""
    objects = tuple(dict.fromkeys(each.object for each in leaves))
    return Delivered({(each.object, each.key): each for each in leaves}, {}, objects, tuple(missing), containers or {})
