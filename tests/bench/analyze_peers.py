"""The other tools, each in a virtual environment of its own, made when it is first needed."""

import subprocess
import sys
from pathlib import Path

CACHE = Path.home() / ".cache" / "mfu-operator" / "bench"

FLOOR = """
import sys, msgspec, numpy
from isal import igzip
class Event(msgspec.Struct, gc=False):
    ph: str = ""
    ts: float = 0.0
    dur: float = 0.0
    name: str = ""
class Document(msgspec.Struct):
    traceEvents: list[Event]
for path in sys.argv[1:]:
    msgspec.json.decode(igzip.decompress(open(path, "rb").read()), type=Document)
"""
"""What no analysis can be faster than: start, import numpy, decompress, decode four fields."""

HTA = """
import sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={rank: path for rank, path in enumerate(sys.argv[1:])})
analysis.get_temporal_breakdown(visualize=False)
"""


def environment(name: str, requirement: str) -> Path:
    """The Python of a virtual environment that holds `requirement`."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", requirement], check=True)
        (folder / "complete").touch()
    return python
