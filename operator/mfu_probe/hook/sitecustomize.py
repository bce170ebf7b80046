"""Python imports this at its start where this folder is on PYTHONPATH (`mfu_probe run` puts it there).

Nothing that fails here may keep a program from starting. A sitecustomize of the image's own still runs.
"""

import importlib.util
import os
import sys


def _install() -> None:
    import mfu_probe_start_up  # type: ignore[import-not-found]  # beside this file, which is on PYTHONPATH

    mfu_probe_start_up.install()


def _run_the_next_one() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        path = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder) != here and os.path.isfile(path):
            spec = importlib.util.spec_from_file_location("sitecustomize", path)
            if spec is not None and spec.loader is not None:
                module = importlib.util.module_from_spec(spec)
                sys.modules["sitecustomize"] = module
                spec.loader.exec_module(module)
            return


try:
    _install()
except Exception as error:
    print("mfu_probe: steps are not counted: %s: %s" % (type(error).__name__, error), file=sys.stderr)
_run_the_next_one()
