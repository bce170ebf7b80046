"""What the Kubernetes client raises, named for what to do next."""

import json

import pytest
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import MaxRetryError, ReadTimeoutError

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.errors import Conflict, MfuError, Retry, Stall


def raised_for(error: Exception) -> MfuError:
    with pytest.raises(MfuError) as raised, translated("reading Job team-a/gpt"):
        raise error
    return raised.value


def answer(status: int, message: str | None = None) -> ApiException:
    error = ApiException(status=status, reason="Because")
    error.body = json.dumps({"kind": "Status", "message": message, "code": status}) if message else "<html>"
    return error


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (401, Stall, "ClusterAccessDenied"),
        (403, Stall, "ClusterAccessDenied"),
        (400, Stall, "ClusterRefused"),
        (422, Stall, "ClusterRefused"),
        (404, Retry, "ClusterUnreachable"),
        (409, Conflict, "ObjectChanged"),
        (429, Retry, "ClusterUnreachable"),
        (500, Retry, "ClusterUnreachable"),
        (503, Retry, "ClusterUnreachable"),
    ],
)
def test_an_answer_is_final_or_worth_another_try(status: int, kind: type[MfuError], reason: str) -> None:
    error = raised_for(answer(status))
    assert isinstance(error, kind)
    assert error.reason == reason
    assert error.message.startswith("reading Job team-a/gpt: ")


@pytest.mark.parametrize("status", [400, 403, 422, 503])
def test_the_servers_own_words_are_told_whole(status: int) -> None:
    said = 'jobs.batch "gpt" is forbidden: exceeded quota: "gpus", requested: 8'
    assert said in raised_for(answer(status, said)).message


@pytest.mark.parametrize("status", [400, 403, 503])
def test_an_answer_that_is_no_status_is_told_by_its_reason(status: int) -> None:
    assert "Because" in raised_for(answer(status)).message


@pytest.mark.parametrize("error", [MaxRetryError(None, "/"), ReadTimeoutError(None, "/", "slow")])  # type: ignore[arg-type]
def test_a_server_that_does_not_answer_is_asked_again(error: Exception) -> None:
    assert isinstance(raised_for(error), Retry)


def test_our_own_mistakes_are_not_hidden() -> None:
    with pytest.raises(KeyError), translated("reading"):
        raise KeyError("name")
