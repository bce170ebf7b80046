"""After the story no secret stands in anything that people or programs read."""

import base64

import pytest

from tests.demo.environment import OPERATOR_NAMESPACE, Environment
from tests.e2e.stories import MainJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]


def test_no_log_status_event_or_manifest_holds_the_token(environment: Environment, main: MainJob) -> None:
    """Searched for after the pull request was opened with it: as it is, in base64, and in a header's form."""
    token = environment.gitea.bot_token
    assert main.pull_request["number"]
    run, every = environment.kubectl.run, "--all-namespaces"
    texts = {
        "logs": run("logs", f"--namespace={OPERATOR_NAMESPACE}", "deployment/mfu-operator", "--all-pods", "--tail=-1"),
        **{
            kind: run("get", kind, every, "--output=json", "--show-managed-fields")
            for kind in ("trainingbaselines", "events", "jobs", "pods", "configmaps", "leases", "deployments")
        },
    }
    assert all(texts.values())
    forms = (token, base64.b64encode(token.encode()).decode())
    assert [(where, form[:4]) for where, text in texts.items() for form in forms if form in text] == []
