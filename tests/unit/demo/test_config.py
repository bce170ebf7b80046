"""The configuration of the demo's training run."""

from pathlib import Path

import pytest

from tests.demo.workload.config import Config, ConfigError, decode_config, load_config

SHIPPED = Path(__file__).parents[2] / "demo" / "workload" / "config.yaml"


def test_the_shipped_file_is_read_and_has_four_workers() -> None:
    config = load_config(SHIPPED)
    assert config.loader.num_workers == 4
    assert config.hardware.peak_flops == 5.2e10


def test_what_is_left_out_has_a_default() -> None:
    assert decode_config({"loader": {"num_workers": 0}}).training == Config().training


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"loaders": {}}, "the file has no loaders; it may hold checkpoint, data"),
        ({"loader": {"workers": 1}}, "loader has no workers; it may hold num_workers, prefetch_factor"),
        ({"loader": {"num_workers": "four"}}, "loader.num_workers must be int, not 'four'"),
        ({"loader": {"num_workers": -1}}, "loader.num_workers must not be negative"),
        ({"hardware": {"peak_flops": "fast"}}, "hardware.peak_flops must be a number"),
        ({"loader": None}, "loader must be a mapping"),
        ([], "the file must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_what_is_possible(content: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decode_config(content)


def test_the_loaders_line_and_the_loggings_line_stand_far_apart_so_that_their_commits_revert_alone() -> None:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    workers = next(number for number, line in enumerate(lines) if "num_workers: 4" in line)
    logging = max(number for number, line in enumerate(lines) if "every_steps" in line)
    assert logging - workers > 2 * 3, "git needs three lines of context on each side"
