"""Python programs by meaning: constants that have a name, and the rest."""

from typing import Any

import pytest

from mfu_operator.gitops.rendered.programs import MAX_CHARACTERS, read


def constants(text: str) -> dict[str, Any]:
    program = read(text)
    assert program is not None
    return program.constants


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1", {"a": 1}),
        ("a: int = 1", {"a": 1}),
        ("a = b = 1", {"a": 1}),
        ("a.b.c = 1", {"a.b.c": 1}),
        ("a['x'] = 1", {"x": 1}),
        ("a[i] = 1", {"value": 1}),
        ("f().x = 1", {"value.x": 1}),
        ("f(workers=4, **more)", {"workers": 4}),
        ("f(workers=n)", {}),
        ("{'workers': 4, n: 5, 'm': n, **more}", {"workers": 4}),
        ("{1: 'a'}", {"1": "a"}),
        ("parser.add_argument('--num-workers', default=4, type=int)", {"num_workers": 4}),
        ("parser.add_argument('--num-workers', default=4, help='how many')", {"num_workers": 4, "help": "how many"}),
        ("parser.add_argument(name, default=4)", {"default": 4}),
        ("parser.add_argument('--n', default=n)", {}),
        ("parser.add_argument(default=4)", {"default": 4}),
        ("add_argument('--n', default=4)", {"default": 4}),
        ("parser.other('--n', default=4)", {"default": 4}),
        ("a = 1\na = 2\na = 3", {"a": 1, "a#1": 2, "a#2": 3}),
        ("a = 1\nb = 2", {"a": 1, "b": 2}),
        ("print(1)", {}),
        ("a = f(1)", {}),
        ("a: int = f(1)", {}),
        ("a: int", {}),
        ("", {}),
    ],
)
def test_a_constant_is_known_by_what_it_is_called(text: str, found: dict[str, Any]) -> None:
    assert constants(text) == found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a = 1", "a = 2", True),
        ("a = 1", "a  =  1  # why", True),
        ('def f():\n    "what"\n    g()', "def f():\n    'how'\n    g()", True),
        ('"""Head."""\nf()', '"""Another."""\nf()', True),
        ("f(1)", "f(2)", False),
        ("f(1)\ng(1)", "f(1)\ng(2)", False),
        ("a = 1", "b = 1", False),
        ("lambda: 1", "lambda: 2", False),
        ("x.y\n", "z.y\n", False),
        ("parser.add_argument('--n', default=4)", "parser.add_argument('--n', default=8)", True),
        ("parser.add_argument('--n', default=4)", "parser.add_argument('--m', default=4)", False),
    ],
)
def test_the_rest_is_the_program_without_constants_comments_and_docstrings(one: str, other: str, same: bool) -> None:
    programs = read(one), read(other)
    assert programs[0] is not None and programs[1] is not None
    assert (programs[0].rest == programs[1].rest) is same


@pytest.mark.parametrize("text", ["a = (", "a: 1: 2", "\0", "(" * 300 + ")" * 300, "-" * 100_000 + "1"])
def test_what_is_not_python_is_no_program(text: str) -> None:
    assert read(text) is None


def test_a_program_has_a_bound() -> None:
    text = "a = 1\n" + "#" * (MAX_CHARACTERS - 6)
    assert constants(text) == {"a": 1}
    assert read(f"{text}#") is None
