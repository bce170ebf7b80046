"""Secrets that a baseline refers to, read when they are needed and not kept."""

from collections.abc import Mapping
from dataclasses import replace

from mfu_operator.api.bound_address import ADDRESS, Bound
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, SecretRef
from mfu_operator.model.commit import Source
from mfu_operator.ports import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    FORGE,
    HOST,
    PASSWORD,
    AppKey,
    Cluster,
    Credentials,
    Forge,
    SecretUse,
)
from mfu_operator.reconcile.world import World


def forge_credentials(adapters: Adapters, world: World, source: Source) -> Credentials | None:
    """What git and the forge of a source are shown: the Secret of spec.remediation.forge.secretRef, read now and not
    kept, or the token that is given for an App's key in it; and beside it those of spec.remediation.credentials, for
    what else the application is made of. None where no Secret is referred to."""
    remediation = world.spec.remediation
    found = credentials_of(adapters.cluster, world.identity.namespace, remediation.secret, FORGE)
    given = adapters.exchange(remediation.forge, source.repository, remediation.forge_address, found)
    beside = tuple(
        each
        for secret in remediation.credentials
        if secret != remediation.secret
        and (each := credentials_of(adapters.cluster, world.identity.namespace, secret, HOST)) is not None
    )
    if given is not None and found is not None:
        given = replace(given, signing_key=found.signing_key)
    return replace(given or Credentials(), beside=beside) if beside else given


def credentials_of(cluster: Cluster, namespace: str, secret: SecretRef | None, use: SecretUse) -> Credentials | None:
    """The credentials in a Secret: `token` (with an optional `username`), or `username` and `password`; for a forge the
    key of a GitHub App besides, where there is neither, and the key that signs commits.

    Raises:
        Stall: CredentialsMissing, where the Secret or its keys are not there.
    """
    if secret is None:
        return None
    data = cluster.secret(namespace, secret.name, use)
    bound = (_bound(namespace, secret, data),)
    password = data.get("token", "").strip() or data.get("password", "").strip()
    signing = data.get("sshSigningKey") or data.get("gpgSigningKey") or None
    if password:
        user = data.get("username", "").strip() or None
        return Credentials(user, password, data.get("ca.crt"), signing_key=signing, bound=bound)
    app_id, private_key = data.get("githubAppID", "").strip(), data.get("githubAppPrivateKey", "").strip()
    if use is HOST and data.get("ca.crt"):
        return Credentials(ca=data["ca.crt"], bound=bound)
    if not app_id or not private_key:
        raise Stall("CredentialsMissing", f"Secret {namespace}/{secret.name} has none of what is read: {use.wanted}")
    installation = data.get("githubAppInstallationID", "").strip() or None
    if not all(each.isascii() and each.isdigit() for each in (app_id, installation or "0")):
        raise Stall(
            "CredentialsUnfit",
            f"githubAppID and githubAppInstallationID of Secret {namespace}/{secret.name} are numbers: write the App's "
            "and the installation's, which GitHub shows",
        )
    return Credentials(
        ca=data.get("ca.crt"), signing_key=signing, bound=bound, app=AppKey(app_id, private_key, installation)
    )


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
