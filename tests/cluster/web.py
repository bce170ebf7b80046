"""Asking the cluster's own servers whether they are well."""

import http.client
import ssl
import urllib.error
import urllib.request

from tests.cluster.pki import Authority, Certificate

_PATIENCE_S = 5.0


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
