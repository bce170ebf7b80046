"""An offered proposal as the command's answer tells it, and as the operator pushes it."""

from mfu_operator.errors import Unreadable
from mfu_operator.gitops.blame.answer import Also, Base, ProposalRow, Remaining, shortened
from mfu_operator.gitops.rendered.difference import rows
from mfu_operator.gitops.telling.owners import CODEOWNERS, owners
from mfu_operator.investigate.desk import Offer
from mfu_operator.model.investigation import Undoing
from mfu_operator.model.proposal import Edit, ProposalKind

MOST = 50
"""Sentences of one kind that the operator is told."""


def row(offer: Offer) -> ProposalRow:
    """The proposal of the command's answer."""
    desk, candidate = offer.desk, offer.candidate
    store = desk.store
    also = {(each.object, each.field): Also(object=each.object, field=each.field)
            for _, each in candidate.others.changed}  # fmt: skip
    return ProposalRow(
        kind=candidate.kind,
        base=Base(repository=desk.one.name, branch=desk.branch, sha=desk.head),
        diff=store.diff(store.resolve_tree(desk.head), candidate.tree),
        files=tuple(sorted(candidate.files)),
        remaining=tuple(
            Remaining(
                object=each.object,
                field=each.field,
                known_good=shortened(each.before),
                after_proposal=shortened(each.after),
            )
            for each in rows(candidate.remaining)
        ),
        also_changes=tuple(also[key] for key in sorted(also)),
        conflicts=offer.conflicts,
    )


def undoing(offer: Offer) -> Undoing:
    """The proposal as the operator makes it.

    Raises:
        Unreadable(RepositoryUnreadable): a file that it changes is not text.
    """
    candidate = offer.candidate
    kind = ProposalKind(candidate.kind)
    edits = () if kind is ProposalKind.REVERT else tuple(_edit(offer, path) for path in sorted(candidate.files))
    also = [f"{folder}: {each}" if folder else str(each) for folder, each in candidate.others.changed]
    return Undoing(
        kind=kind,
        base=offer.desk.head,
        edits=edits,
        remaining=tuple(str(each) for each in candidate.remaining[:MOST]),
        also=tuple(also[:MOST]),
        remark=offer.remark,
        pins=offer.pins,
        pin=offer.pin,
        owners=_owners(offer),
    )


def _owners(offer: Offer) -> tuple[str, ...]:
    text = next((found for path in CODEOWNERS if (found := offer.desk.text(path)) is not None), "")
    return owners(text, tuple(offer.candidate.files))


def _edit(offer: Offer, path: str) -> Edit:
    entry = offer.desk.trees[offer.desk.number].get(path)
    before = offer.desk.one.blob(entry.oid) if entry is not None else None
    try:
        was, now = (data.decode() if data is not None else None for data in (before, offer.candidate.files[path]))
    except UnicodeDecodeError as error:
        raise Unreadable("RepositoryUnreadable", f"{path} is not text in UTF-8: {error}") from error
    return Edit(path, was, now)
