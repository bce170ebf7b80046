"""What is told to others of Gitea."""

from pathlib import Path

import pytest

from tests.cluster.gitea import Gitea, printed_token


def test_the_clone_url_holds_no_credentials(tmp_path: Path) -> None:
    gitea = Gitea(tmp_path, host_address="127.0.0.1", port=13001)
    assert gitea.clone_url("training") == "http://127.0.0.1:13001/platform/training.git"


@pytest.mark.parametrize(
    "said", ["{token}\n", "a warning against this.\n{token}\n", "{token}\na warning against this.\n"]
)
def test_the_token_is_found_wherever_the_warnings_stand(said: str) -> None:
    token = "0123456789abcdef0123456789abcdef01234567"
    assert printed_token(said.format(token=token)) == token
