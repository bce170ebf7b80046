"""Where a release is going to be: what the files of it must name and nobody but the one who releases knows."""

from dataclasses import dataclass

OPERATOR, PROFILER = "mfu-operator", "mfu-profiler"
"""The images' names below a registry."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where images and files are published.

    Args:
        registry: what stands before the images' names (`registry.example.com/ml`); empty: the nodes have them.
        url: the folder that the release's files can be downloaded from; empty: nowhere.
        runbooks: the folder of this version's runbooks, as a person opens it; empty: `kubectl mfu runbook` shows them.
    """

    registry: str = ""
    url: str = ""
    runbooks: str = ""

    def image(self, name: str) -> str:
        """An image without its tag."""
        return f"{self.registry.rstrip('/')}/{name}" if self.registry else name

    def file(self, name: str) -> str:
        """The address of a file of the release; one that resolves nowhere (RFC 6761) where it is not published."""
        return f"{self.url.rstrip('/') or 'https://release.invalid'}/{name}"
