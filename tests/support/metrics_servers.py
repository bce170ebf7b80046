"""The servers that speak Prometheus' API, each over a database made of given samples."""

import pytest

from tests.support import prometheus_server, victoriametrics_server

SERVING = {"prometheus": prometheus_server.serving, "victoriametrics": victoriametrics_server.serving}
SERVERS = [
    pytest.param("prometheus", marks=prometheus_server.NEEDS_PROMETHEUS),
    pytest.param("victoriametrics", marks=victoriametrics_server.NEEDS_VICTORIAMETRICS),
]
