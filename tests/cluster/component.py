"""What every part of the cluster can do."""

from typing import Protocol


class Component(Protocol):
    """One part of the cluster, such as etcd or the kubelet."""

    name: str

    def start(self) -> None:
        """Start the component and return at once; does nothing where it already runs."""

    def ready(self) -> None:
        """Wait until the component serves; raise :class:`tests.cluster.process.NotReady` where it does not."""

    def stop(self) -> None:
        """Stop the component and remove what it left outside the state folder; does nothing where it is gone."""
