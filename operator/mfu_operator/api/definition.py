"""Whether a served definition (CRD) has every field of the status that this version writes.

The API server drops what its definition does not know, without a word, and the operator finds it out and writes it
again at every tick.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from mfu_operator.api.codec import key_of
from mfu_operator.errors import Stall
from mfu_operator.model.incident import Status

UPGRADE = "kubectl apply --server-side --force-conflicts -f charts/mfu-operator/crds/"

NAMED_AT_MOST = 5


def require_fields(schema: Mapping[str, Any]) -> None:
    """Refuse a definition that lacks fields.

    Args:
        schema: the openAPIV3Schema of the version that is served.

    Raises:
        Stall: (DefinitionOutdated) naming the fields and the command that upgrades it.
    """
    lacking = list(_lacking(Status, _property(schema, "status") or {}, "status"))
    if lacking:
        more = len(lacking) - NAMED_AT_MOST
        named = ", ".join(lacking[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
        raise Stall(
            "DefinitionOutdated",
            f"the definition of TrainingBaselines in the cluster is older than this operator: it lacks {named}; "
            f"upgrade it with `{UPGRADE}` from this version's source",
        )


def _lacking(kind: type[Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    hints = get_type_hints(kind)
    for field in fields(kind):
        key = key_of(field.name)
        found = _property(schema, key)
        if found is None:
            yield f"{path}.{key}"
        elif (nested := _nested(hints[field.name])) is not None:
            yield from _lacking(nested, found.get("items", found), f"{path}.{key}")


def _property(schema: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = (schema.get("properties") or {}).get(key)
    return found


def _nested(hint: Any) -> type[Any] | None:
    """The dataclass in an optional or a list of one; None where the field holds no fields of ours."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is tuple and Ellipsis in get_args(hint):
        hint = get_args(hint)[0]
    plain = isinstance(hint, type) and is_dataclass(hint) and get_origin(hint) is None
    return hint if plain and not hasattr(hint, "named") else None
