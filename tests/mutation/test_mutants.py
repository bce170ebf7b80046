"""Changes are drawn that somebody could make, and the list of equivalent ones names changes that still exist."""

from tests.mutation.__main__ import equivalent, shown_to
from tests.mutation.calls import Called
from tests.mutation.copies import PACKAGE, ROOT
from tests.mutation.mutants import all_mutants, mutants_of

SOURCE = b'''"""Counts 2 things."""

LIMIT: int = 2


@decorated(1)
def first(values: list[int], least: int = 1) -> int | None:
    assert values != []
    for value, _ in zip(values, values, strict=True):
        if value > least and not seen(value):
            return value
    log.info("none of %d", 3)
    raise Wait(f"{1 + 1} s")
'''
CHANGES = {
    ":": {"2 -> 3"},
    "first:": {
        "1 -> 2",
        "value > least and (not seen(value)) -> True",
        "value > least and (not seen(value)) -> False",
        "value > least and (not seen(value)) -> value > least or not seen(value)",
        "value > least and (not seen(value)) -> not seen(value)",
        "value > least and (not seen(value)) -> value > least",
        "value > least -> value >= least",
        "value > least -> value <= least",
        "not seen(value) -> seen(value)",
        "return value -> return None",
        "raise Wait(f'{1 + 1} s') -> pass",
    },
}


def test_decisions_are_changed_and_not_types_texts_logs_or_what_is_asserted() -> None:
    expected = {f"example.py:{function} {change}" for function, changes in CHANGES.items() for change in changes}
    assert {each.key for each in mutants_of(SOURCE, "example.py")} == expected


def test_every_mutant_is_another_program() -> None:
    for mutant in mutants_of(SOURCE, "example.py"):
        changed = mutant.applied_to(SOURCE)
        assert changed != SOURCE
        compile(changed, "example.py", "exec")


def test_a_key_does_not_depend_on_lines_and_tells_equal_changes_of_a_function_apart() -> None:
    source = b"def f(a, b):\n    return a < b, a < b\n"
    keys = [each.key for each in mutants_of(source, "example.py")]
    assert [each.key for each in mutants_of(b"# A line more.\n\n" + source, "example.py")] == keys
    assert len(keys) == len(set(keys))
    assert "example.py:f: a < b -> a <= b (#2)" in keys


def test_a_mutant_is_shown_to_the_tests_that_call_its_function_quickest_first() -> None:
    called = [
        Called("slow", 2.0, ["example.py:first"]),
        Called("quick", 0.1, ["example.py:first"]),
        Called("other", 0.1, ["example.py:second"]),
    ]
    constant, *_, change = mutants_of(SOURCE, "example.py")
    assert [each.test for each in shown_to(change, called)] == ["quick", "slow"]
    assert [each.test for each in shown_to(constant, called)] == ["quick", "other", "slow"]


def test_each_mutant_that_was_judged_equivalent_can_still_be_made_and_has_a_reason() -> None:
    judged = equivalent()
    paths = {key.split(":")[0] for key in judged}
    there = {each.key for each in all_mutants(ROOT / PACKAGE, paths)}
    assert judged.keys() - there == set()
    assert all(judged.values())
