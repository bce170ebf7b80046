"""What the profiling Job runs: the request from its environment, the token from a file, the answer in a message."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mfu_operator.cli.main import cli
from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.profiling.live.job import REQUEST_VARIABLE
from mfu_operator.profiling.live.request import encode
from mfu_operator.trace import termination_message as compact
from tests.support.rank_servers import TOKEN, RankServers, torchrec


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[RankServers]:
    folder = tmp_path / "run"
    folder.mkdir()
    made = RankServers(folder, torchrec()[:2])
    yield made
    made.stop()


def coordinated(servers: RankServers | None, tmp_path: Path, token: str | None, **asked: float) -> tuple[Result, str]:
    message, secret = tmp_path / "message", tmp_path / "token"
    if token is not None:
        secret.write_text(token)
    request = "{}" if servers is None else encode(servers.request(**asked))
    words = [
        "coordinate",
        "--token-file",
        str(secret),
        "--folder",
        str(tmp_path),
        "--termination-message",
        str(message),
    ]
    result = CliRunner().invoke(cli, words, env={REQUEST_VARIABLE: request})
    return result, message.read_text()


def test_the_account_is_left_in_the_message_and_progress_in_the_log(servers: RankServers, tmp_path: Path) -> None:
    result, message = coordinated(servers, tmp_path, TOKEN)
    assert result.exit_code == 0, result.output
    assert compact.decode(message).facts.number(facts.RANKS_RECORDED) == 2
    assert "2 ranks record steps" in result.output
    assert TOKEN not in result.output + message


def test_traces_are_held_until_they_were_fetched_and_the_account_is_there_before(
    servers: RankServers, tmp_path: Path
) -> None:
    held = tmp_path / "held"
    seen: list[str] = []

    def fetch() -> None:
        while not (held / "complete").exists():
            time.sleep(0.01)
        seen.extend(sorted(each.name for each in held.iterdir()))
        seen.append(str(compact.decode((tmp_path / "message").read_text()).count))
        (held / "fetched").touch()

    person = threading.Thread(target=fetch)
    person.start()
    result, message = coordinated(servers, tmp_path, TOKEN, hold_s=60.0)
    person.join()
    assert result.exit_code == 0, result.output
    assert seen == ["complete", "rank-0.json.gz", "rank-1.json.gz", str(compact.decode(message).count)]


@pytest.mark.parametrize("token", [None, "", "two\nlines", "nicht-ascii-ß"])
def test_without_a_token_nobody_is_asked_and_the_message_says_why(
    servers: RankServers, tmp_path: Path, token: str | None
) -> None:
    result, message = coordinated(servers, tmp_path, token)
    assert result.exit_code == 3
    with pytest.raises(Unreadable) as caught:
        compact.decode(message)
    assert caught.value.reason == "TokenMissing"


def test_a_request_of_another_version_is_refused_in_words(tmp_path: Path) -> None:
    result, message = coordinated(None, tmp_path, TOKEN)
    assert result.exit_code == 3
    assert "RequestUnreadable" in message


def test_nobody_reads_of_it_in_the_help() -> None:
    assert "coordinate" not in CliRunner().invoke(cli, ["--help"]).output
