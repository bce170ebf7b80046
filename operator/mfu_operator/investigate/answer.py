"""One question answered."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.adapters.charts import Charts
from mfu_operator.adapters.render.mounts import Mount
from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.blame import answer as told
from mfu_operator.gitops.blame.model import Blame, Window
from mfu_operator.gitops.blame.verdicts import judge
from mfu_operator.gitops.sources import applications
from mfu_operator.gitops.sources.plan import Engine, Part, Plan, settings_changed
from mfu_operator.gitops.sources.tree import NotRenderable, clean
from mfu_operator.investigate.bases import of_bases
from mfu_operator.investigate.compare import Comparison, release_of, unfolded, window, with_release
from mfu_operator.investigate.desk import Offer
from mfu_operator.investigate.fetching import fetch
from mfu_operator.investigate.propose import propose
from mfu_operator.investigate.remotes import mounts
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.sources import Opened, open_all, stores
from mfu_operator.investigate.texts import texts
from mfu_operator.investigate.told import row


@dataclass(frozen=True, slots=True)
class Investigated:
    """Everything that was found of one question."""

    comparison: Comparison
    window: Window
    blame: Blame
    offer: Offer | AskPerson | None

    @property
    def because(self) -> str:
        """What was found, in a sentence or two."""
        said = self.offer.remark if isinstance(self.offer, Offer) else self.offer.message if self.offer else ""
        return " ".join(filter(None, [self.blame.because, said]))


@dataclass(frozen=True, slots=True)
class _Lent:
    """What of elsewhere is rendered: bases of other repositories, and how charts are fetched."""

    mounts: Mapping[str, Mount]
    fetch: Callable[[str, str, str], Path] | None


@contextmanager
def investigated(request: Request, turn: AbstractContextManager[object] | None = None) -> Iterator[Investigated]:
    """What is found; the repositories' objects are there until the caller is done with it.

    Args:
        request: the question.
        turn: entered once everything is fetched, for as long as anything is rendered.

    Raises:
        Unreadable: a repository or revision cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="mfu-suspects-") as folder:
        plan, why_not = _plan(request)
        store = stores(request, Path(folder))
        try:
            opened = open_all(request, plan, store)
        except NotRenderable as error:
            why_not = str(error)
            plan = Plan(parts=(Part(engine=Engine.NONE),))
            opened = open_all(request, plan, store)
        fetch(opened, plan)
        beside = mounts(opened, of_bases(request, Path(folder), store))
        fetch_chart = (
            Charts(request.egress, Path(folder) / "charts", credentials=request.credentials).fetch
            if request.egress
            else None
        )
        _at_hand(opened, fetch_chart)
        with turn or nullcontext():
            yield _investigated(request, opened, plan, why_not, _Lent(beside, fetch_chart))


def answer(request: Request) -> told.Answer:
    """Which commit did it, or that none can be named, as the command says it.

    Raises:
        Unreadable: a repository or revision cannot be read.
    """
    with investigated(request) as found:
        chosen = found.blame.chosen
        return told.Answer(
            renderer=_renderer(found.comparison, found.window),
            window=_window(found.comparison.opened),
            rendered=told.rendered(found.window),
            suspects=told.suspects(found.blame, texts(found.comparison, found.blame)),
            chosen=chosen.step.commit.sha if chosen else None,
            because=found.because,
            proposal=row(found.offer) if isinstance(found.offer, Offer) else None,
        )


def _at_hand(opened: Sequence[Opened], fetch_chart: Callable[[str, str, str], Path] | None) -> None:
    """Fetch the charts of the sources before anything is rendered; what fails is told where it is missed."""
    for each in opened if fetch_chart else ():
        for version in {each.good, each.bad} if each.store is None else ():
            with suppress(NotRenderable):
                assert fetch_chart is not None
                fetch_chart(each.source.repository, str(each.source.chart), version)


def _plan(request: Request) -> tuple[Plan, str]:
    try:
        if request.applications:
            found = applications.plan(request.applications)
        else:
            found = Plan(parts=(Part(path=clean(request.path)),))
    except NotRenderable as error:
        return Plan(parts=(Part(engine=Engine.NONE),)), str(error)
    return applications.with_options(found, request.engine, request.kube_version, request.api_versions), ""


def _investigated(request: Request, opened: list[Opened], plan: Plan, why_not: str, lent: _Lent) -> Investigated:
    main = next(each for each in opened if each.main)
    comparison = _comparison(request, opened, plan.at(request.bad, main.bad), plan.at(request.good, main.good), lent)
    inner = unfolded(comparison)
    if inner is not None:
        plan = inner
        comparison = _comparison(
            request, opened, plan.at(request.bad, main.bad), plan.at(request.good, main.good), lent
        )
    release = release_of(comparison)
    if release:
        plan = with_release(comparison.renderer.plan, release)
        comparison = _comparison(request, opened, plan, plan, lent)
    found = window(comparison)
    if why_not:
        found = Window(found.steps, None, None, (), why_not)
    blame = judge(found, str(request.wanted), request.cause, request.exonerated)
    return Investigated(comparison, found, blame, propose(comparison, found, blame))


def _comparison(request: Request, opened: Sequence[Opened], plan: Plan, then: Plan, lent: _Lent) -> Comparison:
    blobs, charts = [each.blob for each in opened], dict(request.charts)
    old = Renderer(then, blobs, charts, lent.mounts, lent.fetch) if settings_changed(then.parts, plan.parts) else None
    return Comparison(request, opened, Renderer(plan, blobs, charts, lent.mounts, lent.fetch), old, then.parts)


def _renderer(comparison: Comparison, found: Window) -> told.RendererRow:
    engines = sorted(comparison.renderer.engines)
    if found.good is None or found.bad is None or not engines:
        return told.RendererRow(name=None, version=None, because=found.why_not or "nothing was rendered")
    names = [engine.partition(" ")[0] for engine in engines]
    versions = [engine.partition(" ")[2] for engine in engines if " " in engine]
    parts = ", ".join(f"{part.chart or part.path or '.'}" for part in comparison.renderer.plan.parts)
    return told.RendererRow(
        name="+".join(names), version=", ".join(versions) or None, because=f"rendered {parts} as it is deployed"
    )


def _window(opened: Sequence[Opened]) -> told.WindowRow:
    main = next(each for each in opened if each.main)
    commits = sum(len(each.steps) for each in opened)
    if len(opened) == 1:
        return told.WindowRow(good=main.good, bad=main.bad, commits=commits)
    rows = tuple(
        told.SourceRow(
            repository=each.source.repository or each.name, good=each.good, bad=each.bad, chart=each.source.chart
        )
        if each.source.chart
        else told.SourceRow(repository=each.source.repository or each.name, good=each.good, bad=each.bad, path="")
        for each in opened
    )
    return told.WindowRow(good=main.good, bad=main.bad, commits=commits, sources=rows)
