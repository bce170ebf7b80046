"""What is said of each commit of the window, and what takes suspicion from a change."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.blame.model import Blame, Judged, Step, Verdict, Window
from mfu_operator.gitops.blame.verdicts import SHOWN, judge
from mfu_operator.gitops.rendered.difference import Difference, Row, differences
from mfu_operator.gitops.rendered.leaf import Leaf
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.rendered.workload import Delivered, delivered
from tests.support.blamed import changed, gets, leaf, step, unrendered

WORKERS = "DataLoaderWorkers"
FEWER = changed("num_workers", "8", "0")
MORE = changed("num_workers", "0", "8")
UNKNOWN_KEY = changed("zorp", "1", "2")
FULL = "a key of DataLoaderWorkers, in the direction that costs time"


def told(each: Difference) -> Row:
    return Row(each.object, each.field, each.before, each.after)


def window(*steps: Step, differs: tuple[Difference, ...] = (FEWER,)) -> Window:
    return Window(steps, gets(), gets(), differs)


def of(*steps: Step, differs: tuple[Difference, ...] = (FEWER,), cause: str | None = WORKERS) -> tuple[Judged, ...]:
    return judge(window(*steps, differs=differs), "Job/gpt", cause).suspects


def score(found: Difference, compared: Window) -> float:
    """That of the only commit, which made the only difference."""
    seen = replace(compared, steps=(step("a", found),), changed=(found,))
    (judged,) = judge(seen, "Job/gpt", WORKERS).suspects
    return judged.score


def said(found: Difference, compared: Window) -> str:
    seen = replace(compared, steps=(step("a", found),), changed=(found,))
    (judged,) = judge(seen, "Job/gpt", WORKERS).suspects
    return judged.because[0]


def test_a_commit_that_gives_the_workload_the_same_is_innocent() -> None:
    one = step("a")
    assert of(one) == (Judged(one, Verdict.INNOCENT, 0.0, (), ("gives the workload the same as its first parent",)),)


def test_a_merge_is_told_to_be_one_whatever_its_verdict_is() -> None:
    said = "a merge: compared with, and reverted to, its first parent"
    steps = (
        step("a", parents=2),
        step("b", FEWER, parents=2),
        replace(unrendered("c"), commit=step("c", parents=2).commit),
    )
    judged = of(*steps)
    assert [each.because[-1] == said for each in judged] == [True, True, True]
    assert said not in of(step("a"))[0].because


def test_what_could_not_be_rendered_is_neither_guilty_nor_innocent() -> None:
    one = unrendered("a", "no kustomize")
    assert of(one) == (Judged(one, Verdict.UNKNOWN, 0.0, (), ("not compared: no kustomize",)),)


@pytest.mark.parametrize("side", ["good", "bad"])
def test_nothing_is_compared_where_either_side_of_the_window_is_not_rendered(side: str) -> None:
    seen = replace(window(step("a", FEWER)), why_not="no helm")
    seen = replace(seen, good=None) if side == "good" else replace(seen, bad=None)
    (judged,) = judge(seen, "Job/gpt", WORKERS).suspects
    assert (judged.verdict, judged.score, judged.guilty) == (Verdict.UNKNOWN, 0.0, ())
    assert judged.because == ("not compared: no helm",)
    assert judged.rows == (told(FEWER),)


def test_a_suspect_tells_its_changes_the_worst_first_and_is_guilty_of_the_plausible_ones() -> None:
    aside = changed("prefetch_factor", "4", "1")
    one = step("a", UNKNOWN_KEY, aside, FEWER)
    (judged,) = of(one, differs=(FEWER, UNKNOWN_KEY, aside))
    assert (judged.verdict, judged.score, judged.guilty) == (Verdict.SUSPECTED, 1.0, (FEWER, aside))
    assert judged.because == (
        f"{FEWER}: {FULL}",
        f"{aside}: can cause DataLoaderWorkers, although it is not its own key",
        f"{UNKNOWN_KEY}: a key that is not known to cause DataLoaderWorkers",
    )
    assert set(judged.rows) == {told(each) for each in (FEWER, UNKNOWN_KEY, aside)}


def test_equally_suspicious_changes_stand_in_the_order_of_their_places() -> None:
    one, other = changed("num_workers", "8", "0", key="b"), changed("num_workers", "8", "0", key="a")
    (judged,) = of(step("a", one, other), differs=(one, other))
    assert judged.guilty == (other, one)


def test_a_score_that_is_just_plausible_is_suspected() -> None:
    vague = changed("num_workers", "few", "many")
    (judged,) = of(step("a", vague), differs=(vague,), cause=None)
    assert (judged.score, judged.verdict, judged.guilty) == (0.5, Verdict.SUSPECTED, (vague,))


def test_a_commit_that_changes_only_what_is_not_known_is_no_suspect() -> None:
    (judged,) = of(step("a", UNKNOWN_KEY), differs=(UNKNOWN_KEY,))
    assert (judged.score, judged.verdict, judged.guilty) == (0.25, Verdict.UNKNOWN, ())


@pytest.mark.parametrize("more", [0, 3])
def test_of_many_changes_the_first_are_told_and_how_many_more_there_are(more: int) -> None:
    found = tuple(changed("zorp", "1", "2", key=f"zorp{number:02}") for number in range(SHOWN + more))
    (judged,) = of(step("a", *found), differs=found)
    last = f"and {more} more changes, none of them more suspicious"
    assert len(judged.because) == SHOWN + (more > 0)
    assert (judged.because[-1] == last) is (more > 0)


@pytest.mark.parametrize("known", [True, False])
def test_a_commit_whose_undoing_brought_nothing_back_is_cleared(known: bool) -> None:
    one = step("a", FEWER) if known else unrendered("a")
    (judged,) = judge(window(one), "Job/gpt", WORKERS, ["a" * 40]).suspects
    rows = (told(FEWER),) if known else ()
    assert judged == Judged(one, Verdict.UNKNOWN, 0.0, rows, ("undoing it brought nothing back",))


SAME = "the same at good and at bad"
BACK = "the known good value is back later in the window"


def test_a_change_of_what_is_the_same_at_good_and_at_bad_is_no_reason() -> None:
    (judged,) = of(step("a", FEWER), differs=(UNKNOWN_KEY,))
    assert (judged.score, judged.because) == (0.0, (f"{FEWER}: {SAME}",))


def test_only_commits_after_which_the_good_value_never_came_back_are_suspected() -> None:
    newest_first = of(step("d", FEWER), step("c", MORE), step("b"), step("a", FEWER))
    assert [each.score for each in newest_first] == [1.0, 0.0, 0.0, 0.0]
    assert newest_first[-1].because == (f"{FEWER}: {BACK}",)


def test_a_value_that_moved_twice_is_the_matter_of_both_commits() -> None:
    halved, rest = changed("num_workers", "8", "4"), changed("num_workers", "4", "0")
    assert [each.score for each in of(step("b", rest), step("a", halved))] == [1.0, 1.0]


def test_what_was_absent_at_good_is_back_where_it_is_absent_again_and_not_where_it_is_empty() -> None:
    came, went = changed("prefetch", None, "1"), changed("prefetch", "1", None)
    assert of(step("b", went), step("a", came), differs=(came,))[1].because == (f"{came}: {BACK}",)
    null = replace(went, is_there=True)
    assert of(step("b", null), step("a", came), differs=(came,))[1].because != (f"{came}: {BACK}",)


def test_one_commit_id_in_two_sources_is_two_commits() -> None:
    newest_first = of(step("a", FEWER, source="two"), step("b", MORE, source="one"), step("a", FEWER, source="one"))
    assert [each.score for each in newest_first] == [1.0, 0.0, 0.0]


def test_a_change_beside_one_that_is_the_same_at_good_and_at_bad_counts() -> None:
    (judged,) = of(step("a", UNKNOWN_KEY, FEWER), differs=(FEWER,))
    assert [each.partition(": ")[2] for each in judged.because[:1]] != [SAME]
    assert judged.score == 1.0


@pytest.mark.parametrize(
    ("of_object", "differs", "found"),
    [
        ("Job/gpt", ["Job/gpt"], True),
        ("ConfigMap/a", ["ConfigMap/a", "ConfigMap/b"], True),
        ("ConfigMap/gpt-config-v2", ["ConfigMap/gpt-config"], True),
        ("Secret/gpt-v2", ["Secret/gpt"], True),
        ("Secret/gpt-config", ["ConfigMap/gpt-config"], False),
        ("Job/gpt-v2", ["Job/gpt"], False),
        ("ConfigMap/c", ["ConfigMap/a", "ConfigMap/b"], False),
        ("ConfigMap/c", ["ConfigMap/a", "Secret/a"], True),
    ],
)
def test_a_config_that_was_renamed_within_the_window_is_known_by_its_only_namesake_of_the_kind(
    of_object: str, differs: list[str], found: bool
) -> None:
    wanted = tuple(changed("num_workers", "8", "0", of=each) for each in differs)
    (judged,) = of(step("a", changed("num_workers", "8", "0", of=of_object)), differs=wanted)
    assert judged.score == (1.0 if found else 0.0)


def test_another_key_of_a_renamed_config_is_another_key() -> None:
    (judged,) = of(step("a", changed("workers", "8", "0", of="ConfigMap/v2")))
    assert SAME in judged.because[0]


def test_two_references_by_which_one_digest_ran_are_no_change() -> None:
    image = changed("image", "gpt:v1", "gpt:v2")
    seen = replace(window(), alike=frozenset({("gpt:v1", "gpt:v2")}))
    assert said(image, seen) == f"{image}: the same digest ran under both names"
    assert score(image, seen) == 0.0
    assert score(image, replace(seen, alike=frozenset({("gpt:v2", "gpt:v1")}))) == 0.6


@pytest.mark.parametrize(
    ("old", "new", "missing_at", "unknown"),
    [
        ("8", None, "bad", True),
        ("8", None, "good", False),
        (None, "0", "good", True),
        (None, "0", "bad", False),
        ("8", "0", "bad", False),
    ],
)
def test_a_value_that_is_absent_because_its_object_was_not_rendered_is_not_known(
    old: str | None, new: str | None, missing_at: str, unknown: bool
) -> None:
    lacking = gets(missing=["ConfigMap/gpt-config"])
    seen = replace(window(), good=lacking) if missing_at == "good" else replace(window(), bad=lacking)
    found = changed("num_workers", old, new)
    why = "ConfigMap/gpt-config is referred to and not rendered, so that its values are not known"
    assert (said(found, seen) == f"{found}: {why}") is unknown
    assert score(found, seen) == (0.4 if unknown else score(found, window()))


def test_what_is_not_rendered_is_not_more_suspicious_than_the_change_itself() -> None:
    seen = replace(window(), bad=gets(missing=["ConfigMap/gpt-config"]))
    assert score(changed("zorp", "1", None), seen) == 0.25
    assert score(changed("num_workers", "8", None), replace(window(), bad=gets(missing=["ConfigMap/x"]))) == 1.0


REPLACED = "ConfigMap/ext is referred to and not rendered, so that its values are not known"


def job_with(container: dict[str, Any], **pod: Any) -> Delivered:
    """What a Job gets beside the ConfigMap `gpt-config` that its application renders."""
    containers = [{"name": "train", "image": "gpt:1", **container}]
    job = Thing("Job", "ml", "gpt", {"kind": "Job", "spec": {"template": {"spec": {"containers": containers, **pod}}}})
    data = {"NUM_WORKERS": "8", "train.yaml": "num_workers: 8"}
    config = Thing("ConfigMap", "ml", "gpt-config", {"kind": "ConfigMap", "data": data})
    return delivered(job, [job, config], b"key")


def environment_of(name: str) -> dict[str, Any]:
    return {"envFrom": [{"configMapRef": {"name": name}}]}


def variable_of(name: str) -> dict[str, Any]:
    reference = {"configMapKeyRef": {"name": name, "key": "NUM_WORKERS"}}
    return {"env": [{"name": "NUM_WORKERS", "valueFrom": reference}]}


def mounted(name: str) -> Delivered:
    mounts = {"volumeMounts": [{"name": "config", "mountPath": "/config"}], "args": ["--config", "/config/train.yaml"]}
    return job_with(mounts, volumes=[{"name": "config", "configMap": {"name": name}}])


INLINE_ENV: dict[str, Any] = {"env": [{"name": "NUM_WORKERS", "value": "8"}]}
INLINE = job_with(INLINE_ENV)


@pytest.mark.parametrize(
    ("here", "elsewhere"),
    [
        (job_with(environment_of("gpt-config")), job_with(environment_of("ext"))),
        (job_with(variable_of("gpt-config")), job_with(variable_of("ext"))),
        (mounted("gpt-config"), mounted("ext")),
        (INLINE, job_with(variable_of("ext"))),
        (INLINE, job_with(environment_of("ext"))),
    ],
    ids=["envFrom", "valueFrom", "volume", "inline to valueFrom", "inline to envFrom"],
)
def test_a_value_is_not_known_where_something_that_is_not_rendered_holds_its_place(
    here: Delivered, elsewhere: Delivered
) -> None:
    for good, bad in ((here, elsewhere), (elsewhere, here)):
        blame = blamed(good, bad)
        assert blame.chosen is None
        assert blame.suspects[0].score <= 0.4
        assert any(REPLACED in reason for reason in blame.suspects[0].because)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (INLINE, job_with({"env": [{"name": "NUM_WORKERS", "value": "0"}], **environment_of("ext")})),
        (job_with({**INLINE_ENV, **environment_of("ext")}), job_with(environment_of("ext"))),
        (job_with({"args": ["--num-workers", "8"]}), job_with(environment_of("ext"))),
        (mounted("gpt-config"), job_with({})),
    ],
    ids=["still inline", "referred to all along", "an argument, not the environment", "nothing referred to"],
)
def test_a_value_is_known_where_nothing_new_that_is_not_rendered_can_hold_it(good: Delivered, bad: Delivered) -> None:
    blame = blamed(good, bad)
    assert blame.chosen is not None
    assert blame.chosen.score == 1.0


def blamed(good: Delivered, bad: Delivered) -> Blame:
    """For fewer workers, of the only commit between both."""
    found = differences(good, bad)
    return judge(Window((step("a", *found),), good, bad, found), "Job/gpt", WORKERS)


OWN = leaf("train.num_workers", "8", file="train.yaml")


@pytest.mark.parametrize(
    "name",
    ["defaults.num_workers", "x-loader.num_workers", "_loader.num_workers", "..loader.num_workers"],
)
def test_a_default_is_no_reason_where_another_key_of_the_file_has_held_its_own_value_throughout(name: str) -> None:
    found = changed(name, "8", "0", file="train.yaml")
    seen = replace(window(), good=gets(OWN), bad=gets(OWN))
    assert score(found, seen) == 0.4
    assert said(found, seen) == f"{found}: {FULL}, but it is a default, and train.num_workers has the value that it had"


@pytest.mark.parametrize("name", ["loader.num_workers", ".a/b.num_workers"])
def test_a_key_that_is_no_default_counts_whatever_others_hold(name: str) -> None:
    found = changed(name, "8", "0", file="train.yaml")
    assert score(found, replace(window(), good=gets(OWN), bad=gets(OWN))) == 1.0


@pytest.mark.parametrize(
    "other",
    [
        replace(OWN, file="b.yaml"),
        replace(OWN, object="ConfigMap/b"),
        replace(OWN, name="train.batch"),
        replace(OWN, name="eval.num_workers"),
        replace(OWN, name="defaults.num_workers"),
    ],
)
def test_another_file_object_or_key_tells_nothing_of_a_default(other: Leaf) -> None:
    found = changed("defaults.num_workers", "8", "0", file="train.yaml")
    assert score(found, replace(window(), good=gets(other), bad=gets(other))) == 1.0


@pytest.mark.parametrize("at_good", [replace(OWN, value="4"), leaf("other", "8", file="train.yaml")])
def test_a_key_that_got_its_value_in_the_window_does_not_excuse_a_default(at_good: Leaf) -> None:
    found = changed("defaults.num_workers", "8", "0", file="train.yaml")
    assert score(found, replace(window(), good=gets(at_good), bad=gets(OWN))) == 1.0


def test_a_default_of_no_file_counts() -> None:
    seen = replace(window(), good=gets(replace(OWN, file="")), bad=gets(replace(OWN, file="")))
    assert score(changed("defaults.num_workers", "8", "0"), seen) == 1.0


def test_a_default_is_not_more_suspicious_than_the_change_itself() -> None:
    found = changed("defaults.zorp", "1", "2", file="train.yaml")
    other = leaf("train.zorp", "1", file="train.yaml")
    assert score(found, replace(window(), good=gets(other), bad=gets(other))) == 0.25


@pytest.mark.parametrize(
    ("container", "containers", "elsewhere"),
    [
        ("logger", {"trainer": True, "logger": False}, True),
        ("trainer", {"trainer": True, "logger": False}, False),
        ("gone", {"trainer": True}, False),
        ("", {"": False}, False),
    ],
)
def test_a_change_of_a_container_that_does_not_train_hardly_counts(
    container: str, containers: dict[str, bool], elsewhere: bool
) -> None:
    found = changed("num_workers", "8", "0", container=container)
    seen = replace(window(), bad=gets(containers=containers))
    assert score(found, seen) == (0.2 if elsewhere else 1.0)
    assert said(found, seen) == f"{found}: {FULL}" + (", but container logger does not train" if elsewhere else "")


def test_a_change_of_a_program_beside_the_one_that_trains_hardly_counts() -> None:
    found = changed("num_workers", "8", "0", beside="eval.py")
    assert score(found, window()) == 0.2
    assert said(found, window()) == f"{found}: {FULL}, but eval.py is not the program that trains"


A, B = leaf("a.x", "1", file="one.yaml"), leaf("b.x", "1", file="two.yaml")
COMMANDS = (
    "spec.containers[t].command[0]",
    "spec.containers[t].args[1]",
    "spec.containers[t].env[C].value",
    "spec.entrypoint",
)


def runs(text: str, field: str = COMMANDS[1]) -> Leaf:
    return leaf("words", text, of="Job/gpt", field=field, key=f"{field} {text}")


@pytest.mark.parametrize("field", COMMANDS)
def test_a_file_of_a_config_counts_little_where_the_command_names_another_one(field: str) -> None:
    found = changed("num_workers", "8", "0", file="one.yaml")
    seen = replace(window(), bad=gets(A, B, runs("--config=two.yaml", field)))
    assert score(found, seen) == 0.4
    assert said(found, seen) == f"{found}: {FULL}, but the command names two.yaml and not one.yaml"


@pytest.mark.parametrize(
    "leaves",
    [
        (A, B, runs("--config=one.yaml")),
        (A, B, runs("--config=one"), runs("--config=two.yaml")),
        (A, B, runs("--config=three.yaml")),
        (A, B, runs("--config=two.yaml", field="metadata.name")),
        (A, runs("--config=two.yaml")),
        (B, runs("--config=two.yaml")),
        (A, replace(B, object="ConfigMap/other"), runs("--config=two.yaml")),
        (A, replace(B, raw="include: one.yaml"), runs("--config=two.yaml")),
        (A, replace(B, file=""), runs("--config=two.yaml")),
    ],
)
def test_a_file_counts_where_the_command_or_the_file_that_it_names_may_read_it(leaves: tuple[Leaf, ...]) -> None:
    assert score(changed("num_workers", "8", "0", file="one.yaml"), replace(window(), bad=gets(*leaves))) == 1.0


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("train --config=conf/two.yaml", False),
        ("--config=two.yaml --data=data.yaml", False),
        ("--config=two.yaml --base=a.yaml.bak", False),
        ("--config=two.yaml --with-a", False),
        ("--config=two.yaml --base=/etc/a.yaml", True),
        ("--config=two.yaml --base=a", True),
    ],
)
def test_a_file_is_named_by_a_whole_word_and_not_by_its_letters(text: str, read: bool) -> None:
    seen = replace(window(), bad=gets(replace(A, file="a.yaml"), B, runs(text)))
    assert score(changed("num_workers", "8", "0", file="a.yaml"), seen) == (1.0 if read else 0.4)


def test_a_file_whose_name_ends_that_of_the_named_one_is_not_named() -> None:
    leaves = (replace(A, file="data.yaml"), replace(B, file="a.yaml"), runs("--config=metadata.yaml"))
    assert score(changed("num_workers", "8", "0", file="data.yaml"), replace(window(), bad=gets(*leaves))) == 1.0


def test_a_third_file_that_names_it_does_not_bring_it_back() -> None:
    third, entry = leaf("c.x", "include: one.yaml", file="three.yaml"), leaf("d", "one.yaml")
    seen = replace(window(), bad=gets(A, B, third, entry, runs("--config=two.yaml")))
    assert score(changed("num_workers", "8", "0", file="one.yaml"), seen) == 0.4


@pytest.mark.parametrize(("file", "of_object"), [("", "ConfigMap/gpt-config"), ("one.yaml", "Secret/gpt-config")])
def test_only_files_of_a_config_map_are_taken_for_unread(file: str, of_object: str) -> None:
    leaves = tuple(replace(each, object=of_object) for each in (A, B))
    seen = replace(window(), bad=gets(*leaves, runs("--config=two.yaml")))
    assert score(changed("num_workers", "8", "0", of=of_object, file=file), seen) == 1.0


def test_a_file_without_an_extension_is_named_in_full() -> None:
    leaves = (replace(A, file="settings"), B, runs("--config=two.yaml"))
    found = changed("num_workers", "8", "0", file="settings")
    assert score(found, replace(window(), bad=gets(*leaves))) == 0.4
    assert score(found, replace(window(), bad=gets(*leaves, runs("settings")))) == 1.0


def test_a_text_is_told_by_its_words_and_a_machines_cause_has_no_commit() -> None:
    text = changed("text", "a", "b", text=True)
    assert score(text, window()) == 0.4
    assert score(changed("text", "x", "x num_workers", text=True), window()) == 0.6
    (judged,) = of(step("a", FEWER), cause="Throttled")
    assert (judged.score, judged.because) == (0.0, (f"{FEWER}: Throttled lies in a machine, not in a commit",))
