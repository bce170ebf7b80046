"""The node's bridge: the host's address to pods, the API server's service address, and the pods' network on it."""

import json
from pathlib import Path

from tests.cluster.layout import API_ADDRESS, BRIDGE, FIRST_POD_ADDRESS, HOST_ADDRESS, POD_RANGE
from tests.cluster.process import CommandFailed, NotReady, output_of, write_atomically

PLUGINS = Path("/usr/lib/cni")
POD_NETWORK = "mfu-operator"
_PLUGIN_CACHE = Path("/var/lib/cni/results")
_FORWARD_RULE = ["FORWARD", "-i", BRIDGE, "-o", BRIDGE, "-j", "ACCEPT"]


class Network:
    """The bridge and the CNI configuration that puts pods on it."""

    name = "network"

    def __init__(self, state: Path) -> None:
        """Keep the CNI configuration and the addresses given away below ``state``."""
        self._folder = state / self.name
        self.plugin_configuration = self._folder / "net.d"

    def start(self) -> None:
        """Make the bridge with both addresses and write the pods' network."""
        if not Path(f"/sys/class/net/{BRIDGE}").exists():
            _ip("link", "add", BRIDGE, "type", "bridge")
        for address in (f"{HOST_ADDRESS}/{POD_RANGE.rpartition('/')[2]}", f"{API_ADDRESS}/32"):
            _ip("addr", "replace", address, "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        _allow_between_pods()
        written = self.plugin_configuration / "10-mfu.conflist"
        write_atomically(written, json.dumps(self._pod_network(), indent=1))

    def ready(self) -> None:
        """Check that the plugins are installed."""
        missing = [plugin for plugin in ("bridge", "host-local", "loopback") if not (PLUGINS / plugin).exists()]
        if missing:
            raise NotReady(f"{PLUGINS} holds no {', '.join(missing)} (Debian: containernetworking-plugins)")

    def stop(self) -> None:
        """Remove the bridge, our firewall rule, and what the plugins noted of our network."""
        if Path(f"/sys/class/net/{BRIDGE}").exists():
            _ip("link", "delete", BRIDGE)
        while _forward_rule_exists():
            output_of(["iptables", "--wait", "-D", *_FORWARD_RULE])
        for noted in _PLUGIN_CACHE.glob(f"{POD_NETWORK}-*"):
            container = noted.name.removeprefix(f"{POD_NETWORK}-").rpartition("-")[0]
            (_PLUGIN_CACHE / f"cni-loopback-{container}-lo").unlink(missing_ok=True)
            noted.unlink()

    def _pod_network(self) -> dict[str, object]:
        addresses = {
            "type": "host-local",
            "dataDir": str(self._folder / "addresses"),
            "ranges": [[{"subnet": POD_RANGE, "rangeStart": FIRST_POD_ADDRESS, "gateway": HOST_ADDRESS}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": False, "ipMasq": False, "ipam": addresses}
        return {"cniVersion": "0.4.0", "name": POD_NETWORK, "plugins": [bridge]}


def _ip(*arguments: str) -> None:
    output_of(["ip", *arguments])


def _allow_between_pods() -> None:
    """Let pods reach each other where bridged packets pass the firewall and it forwards nothing by default."""
    if not _forward_rule_exists():
        output_of(["iptables", "--wait", "-I", *_FORWARD_RULE])


def _forward_rule_exists() -> bool:
    try:
        output_of(["iptables", "--wait", "-C", *_FORWARD_RULE])
    except (CommandFailed, FileNotFoundError):
        return False
    return True
