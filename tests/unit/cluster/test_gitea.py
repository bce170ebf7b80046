"""What Gitea is told, and what is read from what it says."""

from pathlib import Path

import pytest

from tests.cluster.gitea import Gitea, generated_password


def test_the_password_is_read_from_what_gitea_prints() -> None:
    said = "generated random password is 'a'b\\c'\nNew user 'platform' has been successfully created!\n"
    assert generated_password(said) == "a'b\\c"


def test_output_without_a_password_is_an_error_that_does_not_repeat_it() -> None:
    with pytest.raises(ValueError, match="printed no password") as caught:
        generated_password("something secret")
    assert "secret" not in str(caught.value)


def test_the_clone_url_holds_no_credentials(tmp_path: Path) -> None:
    gitea = Gitea(tmp_path, host_address="127.0.0.1", port=13001)
    assert gitea.clone_url("training") == "http://127.0.0.1:13001/platform/training.git"
