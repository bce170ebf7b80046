"""The operator process: kopf's loop over our handlers."""

import logging

import kopf

from mfu_operator import handlers
from mfu_operator.adapters.cluster import connect
from mfu_operator.adapters.cluster.definition import served_schema
from mfu_operator.api.definition import require_fields
from mfu_operator.errors import MfuError, Stall
from mfu_operator.process.ending import end_process
from mfu_operator.process.garbage import collect_seldom
from mfu_operator.settings import from_environment

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def run() -> None:
    """Run until told to stop. One process; with several replicas a Lease decides which of them acts."""
    collect_seldom()
    settings = from_environment()
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    try:
        require_definition()
    except Stall as error:
        end_process(f"{error.reason}: {error.message}")
    registered = [module.__name__ for module in (handlers.startup, handlers.baseline, handlers.probes)]
    logging.getLogger(__name__).info("handlers: %s", ", ".join(registered))
    kopf.run(
        standalone=True,
        identity=settings.pod_name,  # type: ignore[arg-type]  # the type has no public name; without it kopf asks for a user
        clusterwide=not settings.watch_namespaces,
        namespaces=settings.watch_namespaces,
        liveness_endpoint=f"http://{settings.listen_address}:{settings.health_port}/healthz",
    )


def require_definition() -> None:
    """Refuse to start on a definition that lacks fields which this version writes. One that cannot be read is no such
    one: the watch says what is wrong with the API server.

    Raises:
        Stall: (DefinitionOutdated).
    """
    try:
        schema = served_schema(connect())
    except MfuError as error:
        logging.getLogger(__name__).warning("the definition is not checked: %s: %s", error.reason, error.message)
        return
    if schema is not None:
        require_fields(schema)
