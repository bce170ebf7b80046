"""Flux' postBuild substitution: `${name}`, `${name:-default}` and `${name:=default}` in rendered manifests."""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$(\$)?\{([A-Za-z_]\w{0,200})(?::?([-=])([^}\n]{0,2000}))?\}")


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """The text with its variables filled in; one that is not known and has no default becomes empty, as Flux has it."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        known = variables.get(found[2])
        return known if known is not None and (known or not found[3]) else found[4] or ""

    return _VARIABLE.sub(value, text)
