"""Which forge holds a repository."""

from collections.abc import Callable

from mfu_operator.adapters.forges.address import Address, parse
from mfu_operator.adapters.forges.azure import AzureDevOps
from mfu_operator.adapters.forges.bitbucket import Bitbucket
from mfu_operator.adapters.forges.gitea import Gitea
from mfu_operator.adapters.forges.github import GitHub
from mfu_operator.adapters.forges.gitlab import GitLab
from mfu_operator.adapters.forges.http import DIRECT, Web, trusting
from mfu_operator.adapters.forges.kinds import kind_of
from mfu_operator.adapters.forges.other import OtherHost
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.ports import Credentials, Forge

_MADE: dict[ForgeKind, Callable[[Address, Credentials, Web], Forge]] = {
    ForgeKind.GITHUB: GitHub,
    ForgeKind.GITLAB: GitLab,
    ForgeKind.GITEA: Gitea,
    ForgeKind.FORGEJO: Gitea,
    ForgeKind.BITBUCKET: Bitbucket,
    ForgeKind.AZURE_DEVOPS: AzureDevOps,
    ForgeKind.OTHER: OtherHost,
}


def forge(
    kind: ForgeKind | None,
    repository: str,
    address: str | None,
    credentials: Credentials | None,
    web: Web = DIRECT,
) -> Forge:
    """The forge of a repository.

    Args:
        kind: as declared; None guesses from the host.
        repository: the repository's address, in any of its forms.
        address: the forge's base URL where it is not the repository's host.
        credentials: a token (as the password).
        web: where the operator may go.

    Raises:
        Stall(ForgeUnknown): the host is none of the public services and no kind is declared.
        Retry(CredentialsMissing): no token is given.
    """
    where = parse(repository, address)
    known = kind_of(kind, where)
    if credentials is None or not credentials.password:
        raise Retry(
            "CredentialsMissing",
            f"opening a pull request at {where.host} needs a token: name a Secret with the key `token` in "
            "spec.remediation.forge.secretRef.",
        )
    credentials.require(f"{where.web}/{where.path}")
    clean = Credentials(credentials.username, credentials.password.strip())
    return _MADE[known](where, clean, trusting(web, credentials))
