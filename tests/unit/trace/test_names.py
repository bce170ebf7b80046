import pytest

from mfu_operator.trace.names.patterns import compiled


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("Adam", "FusedAdam", True),
        ("Adam", "fused_adam", False),
        ("(?i)Adam", "FUSED_ADAM", True),
        ("(?i)[A-F]d", "add", True),
        (r"(?i)adam\W", "ADAM<float>", True),
        (r"(?i)adam\W", "adamw", False),
    ],
)
def test_case_matters_unless_the_pattern_says_otherwise(pattern: str, name: str, matches: bool) -> None:
    assert compiled(pattern).matches(name) is matches
