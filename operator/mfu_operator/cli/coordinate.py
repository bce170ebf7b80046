"""kubectl mfu coordinate: what the profiling Job of a live capture runs."""

import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import click

from mfu_operator.coordinate.collect import MOST_HELD
from mfu_operator.coordinate.run import captured
from mfu_operator.errors import Unreadable
from mfu_operator.profiling.live.job import COMPLETE, FETCHED, HELD, REQUEST_VARIABLE, TOKEN_FILE
from mfu_operator.profiling.live.request import decode
from mfu_operator.trace import termination_message as compact

UNREADABLE = 3
"""Exit code where there is no account; wrong usage is 2, as click has it."""

LONGEST_TOKEN = 4096

LOOK_EVERY_S = 0.5
"""While traces are held: whether they were fetched."""


@click.command("coordinate", hidden=True)
@click.option("--request", envvar=REQUEST_VARIABLE, required=True, help="The capture request, as JSON.")
@click.option("--token-file", type=click.Path(path_type=Path), default=Path(TOKEN_FILE), help="The mounted token.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Where traces lie for a while.")
@click.option("--termination-message", type=click.Path(path_type=Path, dir_okay=False), help="Where the account goes.")
def coordinate_command(request: str, token_file: Path, folder: Path | None, termination_message: Path | None) -> None:
    """Capture the same steps on every rank of a running job, and leave their merged account."""
    try:
        asked = decode(request)
        token = _token(token_file)
        with tempfile.TemporaryDirectory(prefix="mfu-") if folder is None else nullcontext(folder) as place:
            traces = Path(place) / HELD
            traces.mkdir(exist_ok=True)
            found = captured(asked, token, traces, click.echo, most_held=MOST_HELD if asked.hold_s else 0)
            printed = compact.encode(found.account)
            _leave(termination_message, printed)
            if asked.hold_s:
                _hold(traces, asked.hold_s)
    except Unreadable as error:
        _leave(termination_message, compact.encode_failure(error.reason, error.message))
        click.echo(f"kubectl-mfu: {' '.join(error.message.split())}", err=True)
        sys.exit(UNREADABLE)
    click.echo(printed)


def _hold(traces: Path, for_s: float) -> None:
    """Hold the traces until somebody says that they were fetched, or for so long."""
    click.echo(f"the traces are held for {for_s:.0f} s, or until {FETCHED} is there")
    (traces / COMPLETE).touch()
    ends_s = time.monotonic() + for_s
    while time.monotonic() < ends_s and not (traces / FETCHED).exists():
        time.sleep(LOOK_EVERY_S)


def _token(path: Path) -> str:
    """The capture token. Raises Unreadable (TokenMissing)."""
    try:
        with path.open(encoding="utf-8") as file:
            token = file.read(LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(
            "TokenMissing",
            f"{path} cannot be read ({error}): create the Secret with key token that the training pods mount, or name "
            "it in spec.profiling.capture.secretRef",
        ) from error
    if not token or not token.isascii() or not token.isprintable():
        raise Unreadable("TokenMissing", f"{path} holds no token of printable ASCII characters; write it again")
    return token


def _leave(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")
