"""Addresses and names that more than one part of the cluster has to know."""

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
