"""Run by the peers' own Python: `ask.py tensorboard|hta FILE...` prints what that tool says, one line per sentence."""

import importlib
import logging
import re
import sys
import tempfile
import warnings

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


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    try:
        told = {"tensorboard": tensorboard, "hta": hta}[sys.argv[1]](sys.argv[2:])
    except Exception as error:  # noqa: BLE001 - whatever a peer fails with is its answer
        told = [f"fails: {type(error).__name__}"]
    sys.stdout.write("\n".join(f"SAID {one}" for one in told) + "\n")
