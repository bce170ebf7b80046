"""One value of what a workload gets."""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any

from mfu_operator.model.masking import is_secret_key, masked

Scalar = str | int | float | bool | None

_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?\Z")
_UNITS = {
    "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value.

    Attributes:
        object: the object as it is told, `Kind/name` or `Kind/namespace/name`, without a generator's hash.
        key: tells the value apart within the object; for an option of a command line, the option, not its place.
        name: what the table of causes calls it.
        value: what is compared: numbers, quantities and options by meaning.
        field: the dotted path under which it is told.
        raw: the field's value as rendered, without secrets.
        text: a text that is not read by meaning.
        file: the file inside a ConfigMap that it stands in, "" elsewhere.
        container: the container that it belongs to, "" where it is of none.
        beside: the program that the option is of, where another one of the same command line trains.
    """

    object: str
    key: str
    name: str
    value: Any
    field: str
    raw: Scalar
    text: bool = False
    file: str = ""
    container: str = ""
    beside: str = ""


def comparable(value: Any) -> str:
    """A scalar by meaning: `4`, `4.0` and `"4"` are one value, `true` and `"True"` are another."""
    if value is None:
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    text = str(value)
    return text.lower() if text.lower() in ("true", "false", "null") else text


def quantity(value: Any) -> str:
    """A Kubernetes quantity by meaning: `1000m` and `1` are one value."""
    found = _QUANTITY.match(str(value).strip())
    return comparable(float(found[1]) * _UNITS[found[2] or ""]) if found else comparable(value)


def shown(name: str, value: Any, key: bytes) -> Scalar:
    """A value as it may be told: that of a secret as its keyed hash."""
    if isinstance(value, str):
        return hidden(value, key) if is_secret_key(name) and value else masked(value)
    return value if isinstance(value, int | float | bool) or value is None else masked(str(value))


def hidden(value: str, key: bytes) -> str:
    """A keyed hash, by which two values of a secret can be told apart and neither be read."""
    return f"hmac-sha256:{hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:16]}"


def decoded(value: Any) -> str:
    """The content of a Secret's `data` entry, which may stand in several lines; the entry itself where it is not
    base64.

    The API server decodes it by encoding/base64 of Go, which ignores CR and LF and no other white space
    (https://pkg.go.dev/encoding/base64#Encoding.Decode; literalStore in sigs.k8s.io/json, which
    apimachinery/pkg/runtime/serializer/json calls). kustomize 4 writes long entries so. Some releases since 1.8 refused
    them when an object was made (https://github.com/kubernetes/kubernetes/issues/62742).
    """
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", str(value)), validate=True).decode("utf-8", "backslashreplace")
    except (binascii.Error, ValueError):
        return str(value)
