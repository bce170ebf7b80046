"""A baseline and a series to replay, and what the command prints."""

from pathlib import Path

from click.testing import CliRunner

from mfu_operator.cli.replay.command import replay_command

MANIFEST = """
apiVersion: mfu-operator.io/v1alpha1
kind: TrainingBaseline
metadata: {name: gpt}
spec:
  workload: {apiVersion: batch/v1, kind: Job, name: gpt}
  comparable: {model: gpt}
  baseline: {values: {mfu: 0.46, stepTimeSeconds: 2.0}}
"""


def written(folder: Path, losses: list[float], start: float = 0.0, phase: str = "") -> Path:
    path = folder / "series.csv"
    lines = [f"{start + 30 * index},{0.46 * (1 - loss)},{phase}" for index, loss in enumerate(losses)]
    path.write_text("time,value,phase\n" + "\n".join(lines) + "\n")
    return path


def ran(*arguments: object) -> str:
    result = CliRunner().invoke(replay_command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


LOSS_AND_BACK = [0.0] * 120 + [0.1] * 120 + [0.0] * 60
