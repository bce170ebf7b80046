"""Effects done to the world. Each is an ensure: the same effect twice leaves the same world."""

from collections.abc import Mapping
from dataclasses import replace

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, SecretRef
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    PASSWORD,
    Cluster,
    Credentials,
    Forge,
    Repository,
    SecretUse,
)
from mfu_operator.reconcile.effects import (
    CommitsRead,
    Effect,
    EnsureJob,
    EnsurePullRequest,
    JobEnsured,
    Outcome,
    Previewed,
    PreviewProposal,
    Proposed,
    ReadCommits,
    Subject,
)
from mfu_operator.reconcile.world import World
from mfu_operator.runtime.hands import Hands


def perform(hands: Hands, world: World, effect: Effect) -> Outcome:
    """Do it.

    Raises:
        MfuError: what stood in the way; nothing is left half done that doing it again would not complete.
    """
    match effect:
        case EnsureJob():
            if effect.subject is Subject.BASELINE:
                hands.occupancy.admit(f"{world.identity.namespace}/{effect.profile.job}", world.now_s)
            hands.cluster.ensure_job(effect.manifest)
            hands.sweep.gate(world.identity.uid, Gate.PROFILING, world.now_s)
            return JobEnsured()
        case ReadCommits():
            return CommitsRead(
                hands.repository.commits(
                    effect.source, effect.good, effect.bad, forge_credentials(hands.cluster, world)
                )
            )
        case PreviewProposal():
            credentials = forge_credentials(hands.cluster, world)
            return Previewed(hands.repository.preview(effect.source, effect.proposal, credentials))
        case EnsurePullRequest():
            return _ensure_pull_request(hands.repository, hands, world, effect)


def forge_credentials(cluster: Cluster, world: World) -> Credentials | None:
    """The credentials of spec.remediation.forge.secretRef, read now and not kept; None where none is referred to."""
    return credentials_of(cluster, world.identity.namespace, world.spec.remediation.secret)


def credentials_of(cluster: Cluster, namespace: str, secret: SecretRef | None) -> Credentials | None:
    """The credentials in a Secret: `token` (with an optional `username`), or `username` and `password`.

    Raises:
        Stall: CredentialsMissing, where the Secret or its keys are not there.
    """
    if secret is None:
        return None
    data = cluster.secret(namespace, secret.name, PASSWORD)
    password = data.get("token") or data.get("password")
    if not password:
        raise Stall("CredentialsMissing", f"Secret {namespace}/{secret.name} has neither key token nor key password")
    return Credentials(username=(data.get("username") or "").strip() or None, password=password.strip())


def source_credentials(cluster: Cluster, namespace: str, source: MetricsSource) -> Credentials | None:
    """What a metrics source refers to: what is sent, its authority, the client certificate. None: it refers to none.

    Raises:
        Stall: CredentialsMissing, where a Secret or a key of it is not there.
    """
    sent = credentials_of(cluster, namespace, source.secret)
    if source.ca is None and source.certificate is None:
        return sent
    authority = _read(cluster, namespace, source.ca, AUTHORITY)
    pair = _read(cluster, namespace, source.certificate, CLIENT_CERTIFICATE)
    return replace(
        sent or Credentials(),
        ca=authority.get("ca.crt"),
        certificate=pair.get("tls.crt"),
        private_key=pair.get("tls.key"),
    )


def _read(cluster: Cluster, namespace: str, secret: SecretRef | None, use: SecretUse) -> Mapping[str, str]:
    """All keys of the use; none where nothing is referred to. One reading: a pair that is renewed stays a pair."""
    if secret is None:
        return {}
    data = cluster.secret(namespace, secret.name, use)
    absent = next((key for key in use.keys if not data.get(key)), None)
    if absent is not None:
        raise Stall("CredentialsMissing", f"Secret {namespace}/{secret.name} has no key {absent}")
    return data


def forge_of(hands: Hands, world: World, source: Source) -> Forge:
    """The forge that holds the source's repository."""
    remediation = world.spec.remediation
    credentials = forge_credentials(hands.cluster, world)
    return hands.forge(remediation.forge, source.repository, remediation.forge_address, credentials)


def _ensure_pull_request(repository: Repository, hands: Hands, world: World, effect: EnsurePullRequest) -> Proposed:
    """Look for the pull request first: a closed one is a person's no, and nothing is pushed then."""
    forge = forge_of(hands, world, effect.source)
    request = (effect.source.repository, effect.proposal.branch)
    known = forge.find(effect.proposal.branch)
    if known is not None:
        if known.state is PullRequestState.OPEN:
            hands.breaker.found(request, world.now_s)
        return Proposed(known, "")
    credentials = forge_credentials(hands.cluster, world)
    with hands.breaker.opening(request, world.now_s):
        diff = repository.preview(effect.source, effect.proposal, credentials)
        repository.ensure_branch(effect.source, effect.proposal, credentials)
        return Proposed(forge.ensure(effect.proposal), diff)
