"""One value: by meaning, and as it may be told."""

from typing import Any

import pytest

from mfu_operator.gitops.rendered.leaf import comparable, decoded, hidden, quantity, shown

SECRET = b"key"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (None, "null"),
        ("null", "null"),
        (True, "true"),
        ("True", "true"),
        ("FALSE", "false"),
        (4, "4"),
        (4.0, "4"),
        ("4", "4"),
        (4.5, "4.5"),
        (2.0**52, "4503599627370496"),
        (2.0**53, "9007199254740992.0"),
        (float("inf"), "inf"),
        ("Text", "Text"),
    ],
)
def test_one_value_in_several_spellings_is_one(value: Any, meant: str) -> None:
    assert comparable(value) == meant


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", "1"), ("2", 2), ("1k", 1000), ("1M", "1000k"), ("1G", "1000M"), ("1T", "1000G"), ("1P", "1000T"),
        ("1Ki", 1024), ("1Mi", "1024Ki"), ("1Gi", "1024Mi"), ("1Ti", "1024Gi"), ("1Pi", "1024Ti"), ("1.5Gi", "1536Mi"),
        (" 1 ", "1"),
    ],
)  # fmt: skip
def test_quantities_are_compared_with_their_units(one: Any, other: Any) -> None:
    assert quantity(one) == quantity(other)


@pytest.mark.parametrize(
    ("text", "meant"), [("1X", "1X"), ("-1", "-1"), ("all", "all"), (None, "null"), (True, "true")]
)
def test_what_is_no_quantity_stays_what_it_is(text: Any, meant: str) -> None:
    assert quantity(text) == meant


def test_the_value_of_a_secret_is_told_as_a_keyed_hash() -> None:
    digest = hidden("hunter2", SECRET)
    assert digest.startswith("hmac-sha256:") and len(digest) == len("hmac-sha256:") + 16
    assert digest != hidden("hunter2", b"other") and digest != hidden("hunter3", SECRET)
    assert shown("DB_PASSWORD", "hunter2", SECRET) == digest
    assert shown("DB_PASSWORD", "", SECRET) == ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("plain", "plain"),
        ("https://me:hunter2@git.example", "https://me:***@git.example"),
        (4, 4),
        (4.5, 4.5),
        (True, True),
        (None, None),
        (["a"], "['a']"),
    ],
)
def test_other_values_are_told_without_the_secrets_in_them(value: Any, told: Any) -> None:
    found = shown("address", value, SECRET)
    assert (found, type(found)) == (told, type(told))


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("aHVudGVyMg==", "hunter2"),
        ("not base64", "not base64"),
        ("aHVudGVyMg", "aHVudGVyMg"),
        ("/w==", "\\xff"),
        (7, "7"),
        ("aHVu\r\ndGVyMg==\n", "hunter2"),
        ("aHVu dGVyMg==", "aHVu dGVyMg=="),
    ],
)
def test_an_entry_of_a_secret_is_its_content(entry: Any, content: str) -> None:
    assert decoded(entry) == content
