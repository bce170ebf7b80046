"""Lists of words that stand in a script, read where they are named; and a script's odd ends."""

import pytest

from mfu_operator.gitops.rendered.shell import MAX_LIST, read


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("A=(--a 1)\nrun $A", [["run", "--a", "1"]]),
        ("A=(--a 1)\nrun ${A}", [["run", "--a", "1"]]),
        ("A=(--a 1)\nrun \"${A[@]}\" end", [["run", "--a", "1", "end"]]),
        ("A=(--a 1)\nrun ${A[*]}", [["run", "--a", "1"]]),
        ("A=(--a 1)\nrun x$A", [["run", "x$A"], ["A=", "--a", "1"]]),
        ("A=(--a 1)\nrun $B", [["run", "$B"], ["A=", "--a", "1"]]),
        ("A=(--a)\nA=(--b)\nrun $A", [["run", "--b"]]),
        ("A=(--a)\nA+=(--b)\nrun $A", [["run", "--a", "--b"]]),
        ("A+=(--b)\nrun $A", [["run", "--b"]]),
        ("A=(--a)\nB=($A --b)\nrun $B", [["run", "--a", "--b"]]),
        ("A=(a\n b;c &d|e (f) # g\n)\nrun $A", [["run", "a", "b", "c", "d", "e", "f"]]),
        ("A=(a b) run $A", [["run", "a", "b"]]),
        ("A=()\nrun $A end", [["run", "end"]]),
        ("A=(a b", [["a", "b"]]),
        ("A=(b=(c)\nrun $A", [["run", "b=", "c"]]),
        ("X=1 A=(a", [["X=1", "a"]]),
        ("run (a) b", [["run"], ["a"], ["b"]]),
        ("run A =(a)", [["run", "A", "="], ["a"]]),
        ("f(a) b", [["f"], ["a"], ["b"]]),
        ("A=1; run $A", [["A=1"], ["run", "$A"]]),
        ("A='--a 1'\nrun $A", [["A=--a 1"], ["run", "--a", "1"]]),
        ("A=--a\nrun $A", [["A=--a"], ["run", "--a"]]),
        ("A='--a 1'\nA+=' --b'\nrun $A", [["A=--a 1"], ["A+= --b"], ["run", "--a", "1", "--b"]]),
        ("A='--a 1'\nA=' --b'\nrun $A", [["A=--a 1"], ["A= --b"], ["run", "--b"]]),
        ("A='--a 1'\nB=\"$A --b\"\nrun $B", [["A=--a 1"], ["B=$A --b"], ["run", "--a", "1", "--b"]]),
        ("export A='--a 1'\nrun $A", [["export", "A=--a 1"], ["run", "--a", "1"]]),
        ("local A=--a B=--b\nrun $A $B", [["local", "A=--a", "B=--b"], ["run", "--a", "--b"]]),
        ("echo A=--a\nrun $A", [["echo", "A=--a"], ["run", "$A"]]),
        ("A=--a run $A", [["A=--a", "run", "$A"]]),
    ],
)  # fmt: skip
def test_a_list_is_read_where_it_is_named_and_else_where_it_is_written(text: str, programs: list[list[str]]) -> None:
    assert read(text).programs == programs


def numbers(count: int) -> str:
    return " ".join(map(str, range(count)))


def test_a_list_that_is_too_long_is_read_where_it_is_written() -> None:
    most, more = numbers(MAX_LIST), numbers(MAX_LIST + 1)
    assert read(f"A=({most})\n$A").programs == [most.split()]
    assert read(f"A=({more})\n$A").programs == [["A=", *most.split()], ["$A"]]
    assert read(f"A='{most}'\n$A").programs[-1] == most.split()
    assert read(f"A='{more}'\n$A").programs[-1] == ["$A"]


def test_a_program_takes_lists_up_to_a_bound() -> None:
    half, rest = numbers(MAX_LIST // 2), numbers(MAX_LIST // 2 - 1)
    text = f"A=({half})\nB=({rest})\nC=(c)\nrun $A $B $C"
    assert read(text).programs == [["run", *half.split(), *rest.split(), "$C"], ["C=", "c"]]


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("run # the end", [["run"]]),
        ("# all\nrun", [["run"]]),
        ("#\n#\nrun", [["run"]]),
        ("run \\", [["run"]]),
        ("run 'a\\' b", [["run", "a\\", "b"]]),
        ("run a\\\nb", [["run", "a", "b"]]),
        ('run "a\\\\b"', [["run", "a\\\\b"]]),
        ("run 'a\\\nb'", [["run", "a\\\nb"]]),
        ("run a$(b (c) d)e", [["run", "a$(b (c) d)e"]]),
        ("run $(a)b$(c)", [["run", "$(a)b$(c)"]]),
        ("cat a<<E\nx\nE\nrun", [["cat", "a"], ["run"]]),
        ("cat a<<E>b\nE", [["cat", "a", ">b"]]),
        ("cat <<", [["cat"]]),
        ("cat <<E", [["cat"]]),
        ("cat << 'E' more\nE\nrun", [["cat", "more"], ["run"]]),
    ],
)
def test_comments_quotes_and_documents_end_where_a_shell_ends_them(text: str, programs: list[list[str]]) -> None:
    assert read(text).programs == programs


def test_a_document_may_be_empty_or_begin_with_an_empty_line() -> None:
    assert read("cat <<E\nE\nrun").documents == [("cat", "")]
    assert read("cat <<E\n\na\nE\nrun").documents == [("cat", "\na")]
    assert read("cat <<E\na").documents == [("cat", "a")]
