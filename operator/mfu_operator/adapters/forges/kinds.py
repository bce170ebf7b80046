"""Which kind of forge a repository's host is."""

from mfu_operator.adapters.forges.address import Address
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ForgeKind

_HOSTS = {
    "github.com": ForgeKind.GITHUB,
    "gitlab.com": ForgeKind.GITLAB,
    "bitbucket.org": ForgeKind.BITBUCKET,
    "codeberg.org": ForgeKind.GITEA,
    "gitea.com": ForgeKind.GITEA,
    "dev.azure.com": ForgeKind.AZURE_DEVOPS,
}


def kind_of(declared: ForgeKind | None, where: Address) -> ForgeKind:
    """The kind as declared, or that of a public service's host.

    Raises:
        Stall: (ForgeUnknown) none is declared, and the host is none of the public services.
    """
    known = declared or _HOSTS.get(where.host)
    if known is None:
        kinds = ", ".join(ForgeKind)
        raise Stall(
            "ForgeUnknown",
            f"{where.host} is not a public forge: set spec.remediation.forge.kind to one of {kinds}; with Other the "
            "branch is pushed and a person opens the pull request.",
        )
    return known
