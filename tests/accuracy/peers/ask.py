"""Run by the peers' own Python: `ask.py tensorboard|hta|tracelens FILE...` prints what that tool says, by line.

TraceLens is read from a checkout, which the environment variable TRACELENS names.
"""

import gzip
import importlib
import json
import logging
import os
import re
import sys
import tempfile
import warnings

TIMELINE = ("idle_time", "computation_time", "exposed_comm_time", "exposed_memcpy_time")
SHARES = ("idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg")


def tensorboard(files: list[str]) -> list[str]:
    """The plugin's own split of the step and its recommendations."""
    plugin = importlib.import_module("torch_tb_profiler.profiler.data")
    profile = plugin.RunProfileData.parse("worker", None, files[0], tempfile.mkdtemp())
    profile.process()
    profile.analyze()
    said = [re.sub(r"<[^>]*>", "", one).strip() for one in profile.recommendations]
    return said or ["no recommendation"]


def hta(files: list[str]) -> list[str]:
    """Shares of the recording, and the classes of idle time; HTA gives no advice."""
    analysis = importlib.import_module("hta.trace_analysis").TraceAnalysis(trace_files=dict(enumerate(files)))
    shares = analysis.get_temporal_breakdown(visualize=False)
    said = [
        f"rank {row['rank']:.0f}: " + ", ".join(f"{one[:-10]} {row[one]:.0f} %" for one in SHARES)
        for _, row in shares.iterrows()
    ]
    idle, _ = analysis.get_idle_time_breakdown(ranks=list(range(len(files))), visualize=False)
    worst = idle.sort_values("idle_time").iloc[-1]
    said.append(f"most idle: {worst['idle_category']}, {worst['idle_time'] / 1e3:.1f} ms")
    return said


def tracelens(files: list[str]) -> list[str]:
    """Its GPU timeline, of which its reports begin; it gives no advice."""
    sys.path.insert(0, os.path.join(os.environ["TRACELENS"], "TraceLens", "TreePerf"))  # noqa: PTH118 - a peer's Python
    analyser = importlib.import_module("gpu_event_analyser")
    said = []
    for number, file in enumerate(files):
        with gzip.open(file) as text:
            events = json.load(text)["traceEvents"]
        kinds = analyser.PytorchGPUEventAnalyser([one for one in events if one.get("ph") == "X"]).get_breakdown_df()
        shares = {row["type"]: row["percent"] for _, row in kinds.iterrows()}
        said.append(f"rank {number}: " + ", ".join(f"{one} {shares[one]:.0f} %" for one in TIMELINE))
    return said


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    try:
        told = {"tensorboard": tensorboard, "hta": hta, "tracelens": tracelens}[sys.argv[1]](sys.argv[2:])
    except Exception as error:  # noqa: BLE001 - whatever a peer fails with is its answer
        told = [f"fails: {type(error).__name__}"]
    sys.stdout.write("\n".join(f"SAID {one}" for one in told) + "\n")
