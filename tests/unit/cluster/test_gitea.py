"""What is told to others of Gitea."""

from pathlib import Path

from tests.cluster.gitea import Gitea


def test_the_clone_url_holds_no_credentials(tmp_path: Path) -> None:
    gitea = Gitea(tmp_path, host_address="127.0.0.1", port=13001)
    assert gitea.clone_url("training") == "http://127.0.0.1:13001/platform/training.git"
