"""The picture in README.md, made by the command from a real series: `python -m tests.docs.picture` writes it."""

import tempfile
from pathlib import Path

from click.testing import CliRunner

from mfu_operator.cli.replay.command import replay_command
from tests.support.real_series import points

PICTURE = Path(__file__).parents[2] / "runbooks" / "replay.svg"
SERIES = "megatron_deepseekv3_proxy_flex_tp2pp2emp16etp1cp1_gb_200_release_dev_dgx_gb200.csv"
FROM_H, TO_H = 44.0, 66.0
MANIFEST = """
apiVersion: mfu-operator.io/v1alpha1
kind: TrainingBaseline
metadata: {name: deepseek-proxy}
spec:
  workload: {apiVersion: batch/v1, kind: Job, name: deepseek-proxy}
  comparable: {model: deepseek-proxy}
  baseline: {record: {duration: 3h, warmup: 5m, runs: 1}}
"""


def made() -> str:
    """What the command draws of it now."""
    with tempfile.TemporaryDirectory() as folder:
        manifest, series = Path(folder) / "baseline.yaml", Path(folder) / "series.csv"
        manifest.write_text(MANIFEST)
        rows = [f"{point.time_s},{point.value}" for point in points(SERIES) if FROM_H <= point.time_s / 3600 < TO_H]
        series.write_text("\n".join(["time,value", *rows]) + "\n")
        arguments = ["--baseline", str(manifest), "--signal", "step-time", "-o", "svg", str(series)]
        result = CliRunner().invoke(replay_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


if __name__ == "__main__":
    PICTURE.write_text(made())
