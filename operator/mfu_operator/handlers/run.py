"""The operator process: kopf's loop over our handlers."""

import logging

import kopf

from mfu_operator import handlers
from mfu_operator.runtime.garbage import collect_seldom
from mfu_operator.settings import from_environment

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def run() -> None:
    """Run until told to stop. One process; with several replicas a Lease decides which of them acts."""
    collect_seldom()
    settings = from_environment()
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    registered = [module.__name__ for module in (handlers.startup, handlers.baseline, handlers.probes)]
    logging.getLogger(__name__).info("handlers: %s", ", ".join(registered))
    kopf.run(
        standalone=True,
        identity=settings.pod_name,  # type: ignore[arg-type]  # the type has no public name; without it kopf asks for a user
        clusterwide=not settings.watch_namespaces,
        namespaces=settings.watch_namespaces,
        liveness_endpoint=f"http://{settings.listen_address}:{settings.health_port}/healthz",
    )
