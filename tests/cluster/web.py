"""Reaching the cluster's own servers, which stand behind no proxy, and asking them whether they are well."""

import http.client
import os
import ssl
import urllib.error
import urllib.request

from tests.cluster.pki import Authority, Certificate

_PATIENCE_S = 5.0


def unproxied() -> dict[str, str]:
    """Return this program's environment without its proxies, for a program that talks to the cluster."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def answers_ok(url: str, authority: Authority, client: Certificate) -> bool:
    """Tell whether a server answers 200; one that refuses, breaks off or cannot be reached does not.

    Args:
        url: What to fetch, over TLS and past any proxy.
        authority: Who must have issued the server's certificate.
        client: The certificate that we show.
    """
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.load_cert_chain(client.certificate, client.key)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=_PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return False
