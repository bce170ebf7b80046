"""Addresses and names that more than one part of the cluster has to know."""

from dataclasses import dataclass

BRIDGE = "mfu0"
HOST_ADDRESS = "10.87.0.1"
POD_RANGE = "10.87.0.0/24"
FIRST_POD_ADDRESS = "10.87.0.10"
SERVICE_RANGE = "10.97.0.0/24"
API_ADDRESS = "10.97.0.1"
API_PORT = 443
API_URL = f"https://{API_ADDRESS}"
LOOPBACK = "127.0.0.1"
NODE_NAME = "mfu-node"
CONTEXT = "mfu-demo"
CGROUP = "mfu-operator"


@dataclass(frozen=True)
class ControlPlaneLayout:
    """Where etcd and the API server listen.

    Attributes:
        api_address: The API server's address, which is the service address where there are pods.
        api_port: Its port.
        host_address: Another address of this machine that its certificate is for.
        service_range: Addresses of services.
        etcd_port: Where etcd listens on the loopback address; its peers' port is the next one.
    """

    api_address: str
    api_port: int
    host_address: str
    service_range: str
    etcd_port: int

    @property
    def api_url(self) -> str:
        """The API server's base address."""
        return f"https://{self.api_address}" + ("" if self.api_port == API_PORT else f":{self.api_port}")


WITH_A_NODE = ControlPlaneLayout(API_ADDRESS, API_PORT, HOST_ADDRESS, SERVICE_RANGE, 12379)
"""Of the whole cluster, on its bridge."""

ALONE = ControlPlaneLayout(LOOPBACK, 16443, LOOPBACK, "10.98.0.0/24", 22379)
"""Of an API server without any node, beside the whole cluster and untouched by it."""
