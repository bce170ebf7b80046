"""Fields as dotted paths, and what tells the items of a list apart."""

import pytest

from mfu_operator.gitops.rendered.paths import child, item, item_names, last_key


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("", "spec", "spec"),
        ("spec", "template", "spec.template"),
        ("", "a.b", '["a.b"]'),
        ("data", "train.yaml", 'data["train.yaml"]'),
        ("data", 'a"b\\', 'data["a\\"b\\\\"]'),
        ("data", "", 'data[""]'),
        ("data", "a/b", 'data["a/b"]'),
    ],
)
def test_a_key_is_joined_by_a_dot_and_quoted_where_it_has_one(path: str, key: str, expected: str) -> None:
    assert child(path, key) == expected


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ([{"name": "a"}, {"name": "b"}], ["a", "b"]),
        ([{"name": "a", "key": 1}, {"name": "a", "key": 2}], ["1", "2"]),
        ([{"name": "a"}, {"key": "b"}], ["0", "1"]),
        ([{"name": None}, {"name": "b"}], ["0", "1"]),
        ([{"mountPath": "/a"}], ["/a"]),
        (["x", "y"], ["0", "1"]),
        ([{"name": "a"}, "y"], ["0", "1"]),
        ([{"name": "a"}, {"name": "a"}], ["0", "1"]),
        ([], []),
    ],
)
def test_items_are_told_apart_by_the_first_key_that_all_have_and_none_shares(
    items: list[object], names: list[str]
) -> None:
    assert item_names(items) == names


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("spec", "spec"),
        ("spec.args", "args"),
        ("spec.args[3]", "args"),
        ("spec.a[x][3]", "a"),
        ('data["train.yaml"]', "train.yaml"),
        ('data["a"][0]', "a"),
        ('["a b"]', "a b"),
        (item("env", "A"), "env"),
    ],
)
def test_the_last_key_of_a_path_is_no_item(path: str, key: str) -> None:
    assert last_key(path) == key
