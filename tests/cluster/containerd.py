"""containerd: runs the pods' containers."""

import shutil
import signal
from pathlib import Path

from tests.cluster.layout import LOOPBACK
from tests.cluster.mounts import unmount_below
from tests.cluster.network import PLUGINS, Network
from tests.cluster.process import CommandFailed, Identity, Process, await_condition, output_of, write_atomically
from tests.cluster.state import cache_dir

PAUSE_IMAGE = "localhost/mfu/pause:1"
_NAMESPACE = "k8s.io"
_LONGEST_SOCKET_PATH = 100


class Containerd:
    """Debian's containerd: its images in the cache, all else below the state folder."""

    name = "containerd"

    def __init__(self, state: Path, network: Network) -> None:
        """Describe containerd; its pods get their addresses from ``network``."""
        self._folder = state / self.name
        self._root = cache_dir() / "containerd"
        self._network = network
        self._configuration = self._folder / "config.toml"
        self.socket = self._folder / "containerd.sock"
        self._process = Process(self.name, ["containerd", "--config", str(self._configuration)], state=state)

    def start(self) -> None:
        """Start containerd."""
        if len(str(self.socket)) > _LONGEST_SOCKET_PATH:
            raise ValueError(f"{self.socket} is too long for a socket: choose a shorter MFU_CLUSTER_STATE")
        write_atomically(self._configuration, self._toml())
        self._process.start()

    def ready(self) -> None:
        """Wait until containerd answers and its runtime service, which starts last, serves: a kubelet that comes
        earlier ends."""
        self._process.await_ready("containerd", lambda: self.answers() and self._serves(), 120, 0.1)

    def stop(self) -> None:
        """End every container, the shims that held them, and containerd itself; images stay in the cache."""
        if not self._configuration.exists():
            return
        emptied = self.answers() and self._remove_containers()
        self._end_shims()
        self._process.stop()
        unmount_below(self._root)
        shutil.rmtree(self._root / "io.containerd.grpc.v1.cri" if emptied else self._root, ignore_errors=True)

    def _serves(self) -> bool:
        since_start = self._process.log.read_text(errors="replace").rsplit("starting containerd", 1)[-1]
        return "Start streaming server" in since_start

    def answers(self) -> bool:
        """Tell whether containerd runs and answers."""
        return self._process.running() and self._succeeds("version")

    def ctr(self, *arguments: str) -> str:
        """Run containerd's own client in the namespace of Kubernetes and return what it printed.

        Raises:
            CommandFailed: It did not succeed.
        """
        return output_of(["ctr", "--address", str(self.socket), "--namespace", _NAMESPACE, *arguments])

    def _remove_containers(self) -> bool:
        """Remove every container; tell whether containerd now holds none, so that the next one finds none."""
        if running := self.ctr("tasks", "ls", "-q").split():
            self._succeeds("tasks", "rm", "--force", *running)
        if known := self.ctr("containers", "ls", "-q").split():
            self._succeeds("containers", "rm", *known)
        return not self.ctr("containers", "ls", "-q").split()

    def _succeeds(self, *arguments: str) -> bool:
        try:
            self.ctr(*arguments)
        except CommandFailed:
            return False
        return True

    def _end_shims(self) -> None:
        """End the shims of this containerd: no other one is told to report to our socket."""
        shims = [
            identity for pid in _pids_of("containerd-shim-runc-v2", str(self.socket)) if (identity := Identity.of(pid))
        ]
        for shim in shims:
            if shim.alive():
                shim.send(signal.SIGKILL)
        await_condition("the end of all containers' shims", lambda: not any(shim.alive() for shim in shims), 60, 0.02)

    def _toml(self) -> str:
        return f"""version = 2
root = "{self._root}"
state = "{self._folder}/run"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "{LOOPBACK}"
  max_container_log_line_size = 65536
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{self._folder}/runc"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{self._network.plugin_configuration}"
"""


def _pids_of(program: str, argument: str) -> list[int]:
    """Return the processes of a program that were given exactly this argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            argv = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if Path(argv[0]).name == program and argument in argv:
            found.append(int(folder.name))
    return found
