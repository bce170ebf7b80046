"""Effects done to the world. Each is an ensure: the same effect twice leaves the same world."""

from collections.abc import Mapping
from dataclasses import replace

from mfu_operator.api.bound_address import ADDRESS, Bound
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.errors import AskPerson, Stall
from mfu_operator.gitops.message import trailers
from mfu_operator.model.baseline import MetricsSource, SecretRef
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import Proposal, PullRequest, PullRequestState
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    FORGE,
    PASSWORD,
    AppKey,
    Cluster,
    Credentials,
    Forge,
    Repository,
    SecretUse,
)
from mfu_operator.reconcile.effects import (
    Effect,
    EnsureJob,
    EnsurePullRequest,
    Investigate,
    Investigated,
    JobEnsured,
    Outcome,
    Previewed,
    PreviewProposal,
    Proposed,
    Subject,
)
from mfu_operator.reconcile.world import World


def perform(adapters: Adapters, world: World, effect: Effect) -> Outcome:
    """Do it.

    Raises:
        MfuError: what stood in the way; nothing is left half done that doing it again would not complete.
    """
    match effect:
        case EnsureJob():
            if effect.subject is Subject.BASELINE:
                adapters.slots.admit(f"{world.identity.namespace}/{effect.profile.job}", world.now_s)
            adapters.cluster.ensure_job(effect.manifest)
            adapters.sweep.gate(world.identity.uid, Gate.PROFILING, world.now_s)
            return JobEnsured()
        case Investigate():
            credentials = forge_credentials(adapters, world, effect.question.source)
            return Investigated(adapters.repository.investigate(effect.question, credentials))
        case PreviewProposal():
            credentials = forge_credentials(adapters, world, effect.source)
            return Previewed(adapters.repository.preview(effect.source, effect.proposal, credentials))
        case EnsurePullRequest():
            return _ensure_pull_request(adapters.repository, adapters, world, effect)


def forge_credentials(adapters: Adapters, world: World, source: Source) -> Credentials | None:
    """What git and the forge of a source are shown: the Secret of spec.remediation.forge.secretRef, read now and not
    kept, or the token that is given for an App's key in it. None where no Secret is referred to."""
    remediation = world.spec.remediation
    found = credentials_of(adapters.cluster, world.identity.namespace, remediation.secret, FORGE)
    return adapters.exchange(remediation.forge, source.repository, remediation.forge_address, found)


def credentials_of(cluster: Cluster, namespace: str, secret: SecretRef | None, use: SecretUse) -> Credentials | None:
    """The credentials in a Secret: `token` (with an optional `username`), or `username` and `password`; for a forge the
    key of a GitHub App besides, where there is neither.

    Raises:
        Stall: CredentialsMissing, where the Secret or its keys are not there.
    """
    if secret is None:
        return None
    data = cluster.secret(namespace, secret.name, use)
    bound = (_bound(namespace, secret, data),)
    password = data.get("token") or data.get("password")
    if password:
        return Credentials((data.get("username") or "").strip() or None, password.strip(), bound=bound)
    app_id, private_key = data.get("githubAppID", "").strip(), data.get("githubAppPrivateKey", "").strip()
    if not app_id or not private_key:
        raise Stall("CredentialsMissing", f"Secret {namespace}/{secret.name} has none of what is read: {use.wanted}")
    installation = data.get("githubAppInstallationID", "").strip() or None
    if not all(each.isascii() and each.isdigit() for each in (app_id, installation or "0")):
        raise Stall(
            "CredentialsUnfit",
            f"githubAppID and githubAppInstallationID of Secret {namespace}/{secret.name} are numbers: write the App's "
            "and the installation's, which GitHub shows",
        )
    return Credentials(bound=bound, app=AppKey(app_id, private_key, installation))


def source_credentials(cluster: Cluster, namespace: str, source: MetricsSource) -> Credentials | None:
    """What a metrics source refers to: what is sent, its authority, the client certificate. None: it refers to none.

    Raises:
        Stall: CredentialsMissing, where a Secret or a key of it is not there.
    """
    sent = credentials_of(cluster, namespace, source.secret, PASSWORD)
    if source.ca is None and source.certificate is None:
        return sent
    authority = _read(cluster, namespace, source.ca, AUTHORITY)
    pair = _read(cluster, namespace, source.certificate, CLIENT_CERTIFICATE)
    bound = () if source.certificate is None else (_bound(namespace, source.certificate, pair),)
    sent = sent or Credentials()
    return replace(
        sent,
        bound=(*sent.bound, *bound),
        ca=authority.get("ca.crt"),
        certificate=pair.get("tls.crt"),
        private_key=pair.get("tls.key"),
    )


def _bound(namespace: str, secret: SecretRef, data: Mapping[str, str]) -> Bound:
    return Bound(namespace, secret.name, tuple(data.get(ADDRESS, "").split()))


def _read(cluster: Cluster, namespace: str, secret: SecretRef | None, use: SecretUse) -> Mapping[str, str]:
    """All keys of the use; none where nothing is referred to. One reading: a pair that is renewed stays a pair."""
    if secret is None:
        return {}
    data = cluster.secret(namespace, secret.name, use)
    absent = next((key for key in use.keys if not data.get(key)), None)
    if absent is not None:
        raise Stall("CredentialsMissing", f"Secret {namespace}/{secret.name} has no key {absent}")
    return data


def forge_of(adapters: Adapters, world: World, source: Source) -> Forge:
    """The forge that holds the source's repository."""
    remediation = world.spec.remediation
    credentials = forge_credentials(adapters, world, source)
    return adapters.forge(remediation.forge, source.repository, remediation.forge_address, credentials)


def _ensure_pull_request(
    repository: Repository, adapters: Adapters, world: World, effect: EnsurePullRequest
) -> Proposed:
    """Look for the pull request first: a closed one is a person's no, and nothing is pushed then.

    One that is found is adopted only where its branch's commit is ours, and an open one only where its branch holds
    what this proposal would push.
    """
    forge = forge_of(adapters, world, effect.source)
    credentials = forge_credentials(adapters, world, effect.source)
    known = forge.find(effect.proposal.branch)
    if known is not None and known.state is not PullRequestState.OPEN:
        _require_ours(forge, known, effect.proposal)
        return Proposed(known, "")
    if known is not None:
        repository.ensure_branch(effect.source, effect.proposal, credentials)
        adapters.breaker.found(world.identity.namespace, effect.proposal.branch, world.steady_s)
        return Proposed(known, "")
    namespace, branch = world.identity.namespace, effect.proposal.branch
    with adapters.breaker.opening(namespace, branch, world.now_s, world.steady_s):
        diff = repository.preview(effect.source, effect.proposal, credentials)
        repository.ensure_branch(effect.source, effect.proposal, credentials)
        return Proposed(forge.ensure(effect.proposal), diff)


def _require_ours(forge: Forge, found: PullRequest, proposal: Proposal) -> None:
    """Raise AskPerson(BranchTouched) unless the commit of the pull request carries our trailers for this suspect."""
    said = forge.commit_message(found.head) if found.head is not None else None
    if said is None or trailers(said) != trailers(proposal.commit_message):
        raise AskPerson(
            "BranchTouched",
            f"{found.url} is of branch {found.branch} and its newest commit is not the operator's: it is a person's. "
            "Decide by hand whether the suspect is to be undone.",
        )
