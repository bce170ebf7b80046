"""Steps without a line of code: torch's own hook after every optimizer step counts them.

`install` is called at the interpreter's start by `sitecustomize.py` beside this file. It imports neither torch nor
mfu_probe: it waits until the script itself imports `torch.optim.optimizer`, and a process that never does pays nothing.
Where the script calls `mfu_probe.start` itself, which installs this too, its probe is the one that is told.
"""

from __future__ import annotations

import importlib.util
import sys
import weakref
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Protocol

OPTIMIZER = "torch.optim.optimizer"


class Steps(Protocol):
    """What is told that a step ended."""

    def after_optimizer(self) -> None:
        """One step ended here and the next one begins."""

    def close(self) -> None:
        """Another one is told from now on."""


_own: Steps | None = None
_given: Steps | None = None
_registered = False


def use(steps: Steps) -> None:
    """The script has a probe of its own: it is told of the steps from now on, and what the hook started is closed."""
    global _own, _given  # one process, one probe
    _given = steps
    if _own is not None:
        _own.close()
        _own = None


class OptimizerSteps:
    """Counts the steps of one optimizer: a script with two (a GAN's, one for embeddings) steps both at every turn. The
    first one that steps is counted; when it is gone, the next one is."""

    def __init__(self, start: Callable[[], Steps]) -> None:
        self._start = start
        self._counted: weakref.ref[Any] | None = None

    def __call__(self, optimizer: Any, *_: Any) -> None:
        """An optimizer stepped."""
        global _own
        counted = self._counted() if self._counted is not None else None
        if counted is None:
            self._counted = weakref.ref(optimizer)
        elif counted is not optimizer:
            return
        if _given is None and _own is None:
            _own = self._start()
        steps = _given or _own
        if steps is not None:
            steps.after_optimizer()


def install() -> None:
    """Wait for torch's optimizers. Doing it twice does it once."""
    if OPTIMIZER in sys.modules:
        _register(sys.modules[OPTIMIZER])
    elif not any(isinstance(each, _Waiting) for each in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def _register(module: ModuleType) -> None:
    """torch 2.1 and later; an older one is not counted, and says nothing. Who profiles is noted from here on, too."""
    global _registered
    profiler = sys.modules.get("torch.autograd.profiler")
    if profiler is not None:
        import mfu_probe_profilers  # type: ignore[import-not-found]  # beside this file, or loaded before it

        mfu_probe_profilers.watch(profiler)
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None and not _registered:
        _registered = True
        register(_guarded(OptimizerSteps(_started)))


def _guarded(counted: OptimizerSteps) -> Callable[..., None]:
    """Whatever goes wrong here, the training loop goes on: the first error ends the counting with one line."""
    alive = True

    def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal alive
        if not alive:
            return
        try:
            counted(optimizer, args, kwargs)
        except Exception as error:  # noqa: BLE001
            alive = False
            print(f"mfu_probe counts no steps any more: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201

    return after_step


def _started() -> Steps:
    from mfu_probe.probe import start

    return start()


class _Waiting(MetaPathFinder):
    """Lets the import of torch's optimizers go its way, and registers the hook right after it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, with a loader that registers the hook at its end."""
        if fullname != OPTIMIZER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)
        return spec


class _Then(Loader):
    """A module's loader, and then the hook."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then register."""
        self._loader.exec_module(module)
        _register(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
