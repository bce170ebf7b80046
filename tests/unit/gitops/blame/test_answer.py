"""The answer of `kubectl mfu suspects` from what was judged."""

import json
from dataclasses import replace

import pytest

from mfu_operator.gitops.blame import answer
from mfu_operator.gitops.blame.answer import FieldRow, TextRow, WindowRow, shortened
from mfu_operator.gitops.blame.model import Blame, Judged, Verdict, Window
from mfu_operator.gitops.rendered.difference import Row
from mfu_operator.gitops.rendered.leaf import Scalar
from tests.support.blamed import changed, gets, leaf, step

FEWER = changed("num_workers", "8", "0")
ROW = FieldRow(object="ConfigMap/gpt-config", field="num_workers", before="8", after="0")


def test_objects_of_both_sides_are_counted_once() -> None:
    good, bad = gets(leaf("a", "1"), leaf("b", "1", of="Job/gpt")), gets(leaf("a", "2"), leaf("c", "1", of="Job/bert"))
    assert answer.rendered(Window((), good, bad, (FEWER,))) == answer.RenderedRow(changed=(ROW,), objects=3)
    assert answer.rendered(Window((), None, bad, ())).objects == 2
    assert answer.rendered(Window((), good, None, ())).objects == 2


def test_a_commit_is_a_row() -> None:
    judged = Judged(step("a"), Verdict.SUSPECTED, 0.12345, (Row(ROW.object, ROW.field, "8", "0"),), ("why \ud800",))
    text = TextRow(path="a.yaml", key="k", before=None, after=1)
    other = replace(judged, step=step("b"))
    first, second = answer.suspects(Blame((judged, other), None, ""), {"a" * 40: (text,)})
    assert (first.sha, first.source, first.subject, first.author) == ("a" * 40, "models", "commit a", "Pat")
    assert (first.time, first.verdict, first.score) == ("1970-01-01T00:00:00Z", "suspected", 0.123)
    assert (first.rendered, first.text, first.because) == ((ROW,), (text,), ("why ?",))
    assert second.text == ()


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, None), (4, 4), (True, True), ("x" * 2000, "x" * 2000), ("x" * 2001, "x" * 2000 + "…"), ("\ud800", "?")],
)
def test_a_value_is_told_within_a_bound(value: Scalar, told: Scalar) -> None:
    assert shortened(value) == told


def test_an_answer_is_json_of_the_contract() -> None:
    given = answer.Answer(
        renderer=answer.RendererRow(name=None, version=None, because="none"),
        window=WindowRow(good="a", bad="b", commits=1),
        rendered=answer.RenderedRow(changed=(), objects=0),
        suspects=(),
        chosen=None,
        because="none",
        proposal=None,
    )
    told = json.loads(answer.encode(given))
    assert told["schemaVersion"] == 1
    assert told["window"] == {"good": "a", "bad": "b", "commits": 1}
    assert answer.encode(given).startswith('{\n  "schemaVersion": 1,\n  "renderer"')
