"""What the Kubernetes client raises, as errors named for what to do next."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from mfu_operator.errors import Conflict, Retry, Stall

REFUSED = (401, 403)
INVALID = (400, 422)
CONFLICT = 409


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise `Retry`, `Conflict` or `Stall` for whatever the client raises inside.

    Args:
        doing: what was tried, as a gerund ("reading Job default/gpt"), for the message.
    """
    try:
        yield
    except ApiException as error:
        detail = _server_message(error) or error.reason or "no reason given"
        if error.status in REFUSED:
            raise Stall(
                "ClusterAccessDenied",
                f"{doing}: the API server refused ({error.status}: {detail}); where a right is "
                "missing, compare the operator's role with the chart's RBAC and watchNamespaces",
            ) from error
        if error.status in INVALID:
            raise Stall("ClusterRefused", f"{doing}: {detail}") from error
        if error.status == CONFLICT:
            raise Conflict("ObjectChanged", f"{doing}: {detail}; read it again and repeat the change") from error
        raise Retry("ClusterUnreachable", f"{doing}: the API server answered {error.status}: {detail}") from error
    except HTTPError as error:
        raise Retry("ClusterUnreachable", f"{doing}: {type(error).__name__}; is the API server reachable?") from error


def _server_message(error: ApiException) -> str | None:
    """What the server said, out of the Status object in its answer; None where the answer is none."""
    try:
        status = json.loads(error.body or "")
    except (TypeError, ValueError):
        return None
    message = status.get("message") if isinstance(status, dict) else None
    return message[:500] if isinstance(message, str) else None
