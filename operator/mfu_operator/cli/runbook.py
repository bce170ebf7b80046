"""`kubectl mfu runbook`: what a reason, an alert, a bottleneck or a cause means, and what to do, without a network."""

import re
import sysconfig
from pathlib import Path

import click

from mfu_operator.cli.reasons import Reason, reasons

_FOLDERS = (
    Path(__file__).parents[3] / "runbooks",
    Path(sysconfig.get_path("data")) / "share" / "mfu-operator" / "runbooks",
)
"""Where the pages are in a checkout, and where an installed package puts them."""


@click.command("runbook")
@click.argument("name", required=False)
def runbook_command(name: str | None) -> None:
    """Print the runbook of NAME: a condition's reason, an alert, a bottleneck, a cause or a page.

    Without NAME it lists the pages. The pages come with this command; nothing is fetched.
    """
    if name is None:
        click.echo("\n".join(f"{page.stem:<20} {_title(page)}" for page in _pages()))
        return
    reason = next((each for each in reasons().reasons.values() if each.name.lower() == name.lower()), None)
    page = _page(name, reason)
    if reason is not None:
        click.echo(_row(reason) + "\n")
    click.echo(page.read_text(encoding="utf-8").rstrip())


def _pages() -> list[Path]:
    folder = next((each for each in _FOLDERS if (each / "reasons.md").is_file()), None)
    if folder is None:
        raise click.ClickException("the runbooks are not installed with this command")
    return [page for page in sorted(folder.glob("*.md")) if page.stem not in ("README", "reasons")]


def _page(name: str, reason: Reason | None) -> Path:
    """The page of a reason or an alert, of this name, or with a section of this name."""
    pages = {page.stem: page for page in _pages()}
    alerts = {alert.lower(): page for alert, page in reasons().alerts.items()}
    wanted = reason.page if reason is not None else alerts.get(name.lower(), name.lower())
    if wanted in pages:
        return pages[wanted]
    section = re.compile(rf"^### {re.escape(name)}$", re.MULTILINE | re.IGNORECASE)
    found = next((page for page in pages.values() if section.search(page.read_text(encoding="utf-8"))), None)
    if found is None:
        raise click.UsageError(f"no reason, alert, bottleneck, cause or page has the name {name!r}")
    return found


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _row(reason: Reason) -> str:
    lines = (reason.name, reason.meaning, f"Remedy: {reason.remedy}", f"Next: {reasons().next[reason.then]}")
    return "\n\n".join(lines)
