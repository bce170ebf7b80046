"""The proposal for a blamed commit: a revert where it is clean, else the pieces that bring the known good back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, Unreadable
from mfu_operator.gitops.sources.plan import Engine, Part, Source
from mfu_operator.gitops.sources.tree import SUBMODULE, Entry
from mfu_operator.investigate.compare import window
from mfu_operator.investigate.desk import Offer, desk
from mfu_operator.investigate.propose import propose
from tests.support.comparisons import URL, blamed, comparison_of, config, manifest, opened_of, request_of, told
from tests.support.memory_store import MemoryStore

FOLLOWED = "The application follows v1.0, which is not a branch: after the merge, let it follow the merged commit."
OTHER = "https://git.example/ml/values"
Files = dict[str, str | bytes | Entry | None]
GPT = Part(path="gpt")
LINES = "\n".join(f"      - name: {name}\n        value: '{{{name}}}'" for name in ("A", "B", "C"))
JOB = f"""apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
spec:
  template:
    spec:
      containers:
      - name: trainer
        image: gpt:v1
        env:
{LINES.replace("      - ", "        - ").replace("        value", "          value")}
"""


def job(name: str = "gpt", **values: object) -> str:
    """A job of several lines, of which single ones can be undone."""
    return JOB.replace("NAME", name).format(**{"A": 1, "B": 1, "C": 1, **values})


class Asked:
    """A history, the commit of it that is blamed, and what is proposed."""

    def __init__(self, *states: Files, part: Part = GPT, **asked: Any) -> None:
        self.store = MemoryStore(URL)
        subjects: Sequence[str] = asked.pop("subjects", ())
        self.shas = [self.store.add(subjects[number] if subjects else str(number), files)
                     for number, files in enumerate(states)]  # fmt: skip
        bad = asked.pop("bad", len(self.shas) - 1)
        opened = opened_of(self.store, self.shas[0], self.shas[bad], source=asked.pop("source", Source(URL, "main")))
        request = request_of(self.shas[0], self.shas[bad], **asked)
        self.comparison = comparison_of(opened, [part], request)
        self.window = window(self.comparison)

    def proposed(self, subject: str = "1", *names: str) -> Offer | AskPerson | None:
        return propose(self.comparison, self.window, blamed(self.window, subject, *names))

    def offer(self, subject: str = "1", *names: str) -> Offer:
        found = self.proposed(subject, *names)
        assert isinstance(found, Offer), found
        return found

    def declined(self, subject: str = "1", *names: str) -> tuple[str, str]:
        found = self.proposed(subject, *names)
        assert isinstance(found, AskPerson), found
        return found.reason, found.message


def test_a_commit_that_changed_nothing_else_is_reverted() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2), "README.md": "new"}, {"gpt/b.yaml": config(X=1)})
    offer = asked.offer()
    assert (offer.candidate.kind, offer.conflicts, offer.remark, offer.pins) == ("Revert", (), "", ())
    assert offer.candidate.files == {"README.md": None, "gpt/job.yaml": job().encode()}
    assert (offer.candidate.restored, offer.candidate.remaining) == (True, ())
    assert (offer.desk.branch, offer.desk.head, offer.desk.number) == ("main", asked.shas[2], 0)
    assert set(asked.store.tree(offer.candidate.tree)) == {"gpt/job.yaml", "gpt/b.yaml"}


def test_nothing_is_proposed_where_nothing_is_blamed_or_an_end_is_not_rendered() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)})
    assert propose(asked.comparison, asked.window, blamed(asked.window, None)) is None
    for without in (replace(asked.window, good=None), replace(asked.window, bad=None)):
        assert propose(asked.comparison, without, blamed(asked.window, "1")) is None


@pytest.mark.parametrize(("head", "declined"), [(40, True), (7, True), (0, False)])
def test_what_a_person_refused_is_not_proposed_again(head: int, declined: bool) -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)})
    asked.comparison.request = replace(asked.comparison.request, refused=("f" * 40, asked.shas[1][:head]))
    found = asked.proposed()
    assert isinstance(found, AskPerson) == declined
    assert not isinstance(found, AskPerson) or found.reason == "PullRequestClosed"


def test_a_rollback_is_not_rolled_back() -> None:
    subjects = ("0", 'Revert "Take fewer workers"')
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}, subjects=subjects)
    assert asked.declined(subjects[1])[0] == "RollbackOfRollback"


def test_what_the_branch_undid_already_is_not_proposed() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}, {"gpt/job.yaml": job()}, bad=1)
    assert asked.declined() == (
        "NothingToRevert",
        f"main does not hold the change of {asked.shas[1][:7]} (1) any more: nothing is left to undo.",
    )
    tagged = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}, {"gpt/job.yaml": job()}, bad=1,
                   source=Source(URL, "v1.0"))  # fmt: skip
    assert tagged.declined()[1].endswith(" The application follows v1.0: let it follow what came after.")


def test_where_no_branch_holds_the_commit_its_own_state_takes_the_proposal() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)})
    asked.store.heads = {"old": asked.shas[0]}
    offer = asked.offer()
    assert (offer.desk.branch, offer.desk.head) == (None, asked.shas[1])
    asked.store.heads = {}
    asked.comparison.opened[0].bad = asked.shas[0]
    assert asked.declined()[1].startswith("the branch does not hold")


@pytest.mark.parametrize(
    ("branches", "target", "asked_for", "checked_out", "expected"),
    [
        ({"main": 2, "prod": 2}, "prod", "", "main", "prod"),
        ({"main": 2, "prod": 2}, "refs/heads/prod", "", "main", "prod"),
        ({"main": 2, "prod": 2}, "main", "prod", "main", "prod"),
        ({"main": 2, "prod": 0}, "prod", "", "main", "main"),
        ({"a": 0, "b": 2, "main": 2}, "v1.0", "", "main", "main"),
        ({"a": 0, "c": 2, "b": 1}, "v1.0", "", None, "b"),
        ({"a": 0}, "a", "", "gone", None),
    ],
)
def test_the_branch_that_is_followed_takes_the_proposal_else_one_that_holds_the_commit(
    branches: dict[str, int], target: str, asked_for: str, checked_out: str | None, expected: str | None
) -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}, {"x.md": ""}, bad=1,
                  source=Source(URL, target), branch=asked_for)  # fmt: skip
    asked.store.heads = {name: asked.shas[number] for name, number in branches.items()}
    asked.store.checked_out = checked_out
    assert asked.window.good is not None
    found = desk(asked.comparison, 0, asked.window.good)
    assert (found.branch, found.head) == (expected, asked.shas[branches[expected] if expected else 1])
    other = replace(asked.comparison.opened[0], main=False)
    asked.comparison.opened = [other]
    if asked_for:
        assert desk(asked.comparison, 0, asked.window.good).branch == "main"


@pytest.mark.parametrize(
    ("target", "expected"),
    [("main", ""), ("refs/heads/main", ""), ("", ""), ("HEAD", ""),
     ("v1.0", FOLLOWED)],
)  # fmt: skip
def test_a_merge_alone_deploys_nothing_where_no_branch_is_followed(target: str, expected: str) -> None:
    files: list[Files] = [{"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}]
    assert Asked(*files, source=Source(URL, target)).offer().remark == expected
    files[1]["eval/job.yaml"] = manifest("eval")
    found = Asked(*files, {"eval/job.yaml": manifest("eval", A=1)}, source=Source(URL, target)).offer()
    assert (found.candidate.kind, found.remark) == ("MinimalRevert", expected)


def test_only_what_is_guilty_is_undone_where_the_rest_is_read_by_others() -> None:
    asked = Asked(
        {"gpt/job.yaml": job(), "eval/job.yaml": job("eval")},
        {"gpt/job.yaml": job(A=2, C=2), "eval/job.yaml": job("eval", A=2)},
    )
    offer = asked.offer("1", "env[A]")
    assert (offer.candidate.kind, offer.remark, offer.conflicts) == ("MinimalRevert", "", ())
    assert offer.candidate.files == {"gpt/job.yaml": job(C=2).encode()}
    assert told(offer.candidate.remaining) == ["Job/gpt spec.template.spec.containers[trainer].env[C].value: 1 → 2"]


def test_only_what_is_guilty_is_undone_where_the_rest_conflicts() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)}, {"gpt/job.yaml": job(A=2, C=3)})
    offer = asked.offer()
    assert (offer.candidate.kind, offer.conflicts) == ("MinimalRevert", ("gpt/job.yaml",))
    assert offer.candidate.files == {"gpt/job.yaml": job(C=3).encode()}


def test_a_file_that_was_added_is_taken_out_and_one_that_was_taken_out_comes_back() -> None:
    def read(name: str) -> str:
        return manifest(config=name, B=1)

    added = Asked({"gpt/job.yaml": read("c")}, {"gpt/c.yaml": config("c", A=1), "eval/x.yaml": manifest("eval")},
                  {"eval/x.yaml": manifest("eval", A=2)}).offer("1", "ConfigMap/c")  # fmt: skip
    assert added.candidate.files == {"gpt/c.yaml": None}
    states: list[Files] = [{"gpt/job.yaml": read("c"), "gpt/c.yaml": config("c", A=1)},
                           {"gpt/c.yaml": None, "eval/x.yaml": manifest("eval")},
                           {"eval/x.yaml": manifest("eval", A=2)}]  # fmt: skip
    gone = Asked(*states).offer("1", "ConfigMap/c")
    assert gone.candidate.files == {"gpt/c.yaml": config("c", A=1).encode()}
    both = Asked(*states[:2], {"gpt/c.yaml": config("c", A=2), "eval/x.yaml": manifest("eval", A=2)}, bad=1)
    assert both.declined("1", "ConfigMap/c")[0] == "RevertConflict"


def moved(**more: Entry | str) -> list[Files]:
    """A job in another file, with another value, beside what else the commit changes; no piece alone helps."""
    old: Files = {path: manifest("eval", A=1) for path in more}
    return [{"gpt/job.yaml": job(), **old}, {"gpt/job.yaml": None, "gpt/work.yaml": job(A=2), **more}]


def test_the_whole_commit_is_reverted_where_no_piece_of_it_helps() -> None:
    offer = Asked(*moved(**{f"{name}/job.yaml": manifest("eval", A=2) for name in "fedcba"})).offer()
    assert offer.candidate.kind == "Revert"
    assert offer.remark.startswith("The proposal also changes what is deployed from a, b, c, d, e. It also changes ")
    assert [folder for folder, _ in offer.candidate.others.changed] == list("abcdef")


def test_what_reads_a_changed_file_and_cannot_be_rendered_is_told() -> None:
    broken: dict[str, Entry | str] = {f"{name}/job.yaml": "{" for name in "fedcba"}
    assert (
        Asked(*moved(**broken))
        .offer()
        .remark.startswith(
            "What is deployed from a, b, c, d, e reads a file that it changes, and could not be rendered: "
            "what it gets is not known. "
            "It also changes a/job.yaml, b/job.yaml, c/job.yaml, d/job.yaml, e/job.yaml, which this workload"
        )
    )


def test_a_chart_of_the_repository_that_changes_is_told() -> None:
    charts = {f"charts/{name}/values.yaml": "a: 2\n" for name in "fedcba"}
    states = moved(**charts)
    states[0] |= {f"charts/{name}/Chart.yaml": "name: x\n" for name in "fedcba"}
    offer = Asked(*states).offer()
    assert offer.candidate.charts == tuple(f"charts/{name}" for name in "abcdef")
    assert "It changes chart charts/a, charts/b, charts/c, charts/d, charts/e, which other releases" in offer.remark


def test_the_whole_commit_is_reverted_with_what_no_file_says() -> None:
    offer = Asked(*moved(lib=Entry(SUBMODULE, "2"))).offer()
    assert offer.remark == "It also changes lib, which this workload does not read."
    assert "lib" in offer.desk.store.tree(offer.candidate.tree)


def test_a_commit_that_cannot_be_undone_needs_a_person() -> None:
    states = moved()
    asked = Asked(*states, {"gpt/work.yaml": job(A=3)})
    sha = asked.shas[1][:7]
    assert asked.declined() == (
        "RevertConflict",
        f"{sha} (1) has to be undone by hand: gpt/work.yaml changed since.",
    )
    asked = Asked({"gpt/job.yaml": job(A=1)}, {"gpt/job.yaml": job(A=2)}, {"gpt/job.yaml": job(A=3)})
    asked.store.reverted = lambda sha, head: (asked.store.resolve_tree(head), ())  # type: ignore[method-assign]
    assert asked.declined() == (
        "RevertInsufficient",
        f"{asked.shas[1][:7]} (1) has to be undone by hand: no revert of it brings back what was known good.",
    )
    asked.store.reverted = lambda sha, head: ("", ("a", "b", "c", "d"))  # type: ignore[method-assign]
    assert asked.declined()[1].endswith("by hand: a, b, c changed since.")


def test_a_repository_that_cannot_be_read_needs_a_person() -> None:
    asked = Asked({"gpt/job.yaml": job()}, {"gpt/job.yaml": job(A=2)})

    def broken(sha: str, head: str) -> tuple[str, tuple[str, ...]]:
        raise Unreadable("RepositoryUnreadable", "git merge-tree: no word")

    asked.store.reverted = broken  # type: ignore[method-assign]
    assert asked.declined() == ("RevertConflict", "No proposal could be made: git merge-tree: no word")


def test_a_name_that_goes_back_brings_nothing_back_where_what_it_names_changed_as_well() -> None:
    asked = Asked(
        {"gpt/job.yaml": manifest(config="a"), "gpt/a.yaml": config("a", WORKERS=8)},
        {"gpt/job.yaml": manifest(config="b"), "gpt/b.yaml": config("b", WORKERS=0)},
        {"gpt/a.yaml": config("a", WORKERS=0)},
    )
    assert asked.declined("1", "WORKERS")[0] == "RevertInsufficient"
    asked = Asked(
        {"gpt/job.yaml": manifest(config="a"), "gpt/a.yaml": config("a", WORKERS=8)},
        {"gpt/job.yaml": manifest(config="b"), "gpt/b.yaml": config("b", WORKERS=0)},
    )
    assert asked.offer("1", "WORKERS").candidate.restored


def test_a_value_is_brought_back_under_the_name_that_it_bears_since() -> None:
    states: list[Files] = [
        {
            "gpt/job.yaml": manifest(config="a"),
            "gpt/a.yaml": config("a", WORKERS=8),
            "gpt/b.yaml": config("b", WORKERS=0),
        },
        {"gpt/a.yaml": config("a", WORKERS=0)},
        {"gpt/job.yaml": manifest(config="b")},
    ]
    assert Asked(*states).declined("1", "WORKERS")[0] == "RevertInsufficient"


def test_a_text_in_another_encoding_is_undone_byte_by_byte() -> None:
    asked = Asked(
        {"gpt/job.yaml": f"# Andr\xe9\n{job()}".encode("latin-1"), "notes.txt": b"\xe9 1\n"},
        {"gpt/job.yaml": f"# Andr\xe9\n{job(A=2)}".encode("latin-1"), "notes.txt": b"\xe9 2\n", "x.yaml": "a: 1\n"},
    )
    assert asked.offer().candidate.files == {"gpt/job.yaml": f"# Andr\xe9\n{job()}".encode("latin-1")}


def test_another_workload_of_the_same_folder_is_left_as_it_is() -> None:
    asked = Asked({"gpt/job.yaml": job(), "gpt/eval.yaml": job("eval")},
                  {"gpt/job.yaml": job(A=2), "gpt/eval.yaml": job("eval", A=2)})  # fmt: skip
    assert list(asked.offer("1", "Job/gpt").candidate.files) == ["gpt/job.yaml"]
    states = moved(lib=Entry(SUBMODULE, "1"))
    states[0]["gpt/eval.yaml"] = job("eval")
    states[1]["gpt/eval.yaml"] = job("eval", A=2)
    assert Asked(*states).offer("1", "Job/gpt").remark == "It also changes lib, which this workload does not read."


def test_a_chart_is_told_however_little_of_it_changes() -> None:
    asked = Asked({"gpt/job.yaml": job(), "gpt/Chart.yaml": "name: gpt\n"}, {"gpt/job.yaml": job(A=2)},
                  part=Part(path="gpt", engine=Engine.PLAIN, recurse=False))  # fmt: skip
    assert asked.offer().remark == "It changes chart gpt, which other releases may use."


def test_the_whole_commit_is_reverted_where_its_pieces_bring_back_a_part() -> None:
    asked = Asked(
        {"gpt/job.yaml": manifest(config="c", B=1), "gpt/c.yaml": config("c", A=1), "gpt/e.yaml": config("e", C=1)},
        {
            "gpt/c.yaml": None,
            "gpt/d.yaml": config("c", A=2),
            "gpt/job.yaml": manifest(config="c", B=2),
            "x.yaml": "a: 1\n",
        },
    )
    offer = asked.offer()
    assert (offer.candidate.kind, offer.remark) == (
        "Revert",
        "It also changes x.yaml, which this workload does not read.",
    )


def test_a_file_that_is_gone_since_is_left_out() -> None:
    asked = Asked({"gpt/job.yaml": job(), "c.txt": "1\n"}, {"gpt/job.yaml": job(A=2), "c.txt": "2\n"}, {"c.txt": None})
    assert list(asked.offer().candidate.files) == ["gpt/job.yaml"]


def test_of_several_sources_the_others_are_as_they_were() -> None:
    store, values, more = MemoryStore(URL), MemoryStore(OTHER), MemoryStore("https://git.example/more")
    shas = [store.add(str(number), {"job.yaml": manifest(config="c", A=number), "x.yaml": f"a: {number}\n"})
            for number in range(2)]  # fmt: skip
    shas.append(store.add("2", {"x.yaml": "a: 3\n"}))
    theirs = [one.add("0", {"c.yaml": config(name)}) for one, name in ((values, "c"), (more, "d"))]
    beside = [opened_of(one, sha, sha, source=Source(one.url or ""), name=str(one.url), main=False)
              for one, sha in zip((values, more), theirs, strict=True)]  # fmt: skip
    parts = [Part(), Part(source=1), Part(source=2)]
    comparison = comparison_of([opened_of(store, shas[0], shas[2]), *beside], parts)
    found = window(comparison)
    offer = propose(comparison, found, blamed(found, "1"))
    assert isinstance(offer, Offer)
    assert (offer.candidate.kind, list(offer.candidate.files)) == ("MinimalRevert", ["job.yaml"])


def test_a_first_commit_is_undone_by_its_pieces() -> None:
    store, values = MemoryStore(URL), MemoryStore(OTHER)
    shas = [store.add(str(number), {"job.yaml": manifest(config="c"), "a.md": str(number)}) for number in range(2)]
    theirs = values.add("none", {"a.md": ""}, branch="old"), values.add("first", {"c.yaml": config("c", A=1)}, onto="")
    second = opened_of(values, *theirs, source=Source(OTHER, "main"), name=OTHER, main=False)
    comparison = comparison_of([opened_of(store, *shas), second], [Part(), Part(source=1)])
    found = window(comparison)
    offer = propose(comparison, found, blamed(found, "first"))
    assert isinstance(offer, Offer)
    assert (offer.candidate.kind, offer.candidate.files) == ("MinimalRevert", {"c.yaml": None})


def test_a_commit_of_another_source_is_undone_there() -> None:
    store, values = MemoryStore(URL), MemoryStore(OTHER)
    shas = [store.add(str(number), {"job.yaml": manifest(config="c", A=number)}) for number in range(2)]
    theirs = [values.add(f"v{number}", {"c.yaml": config("c", B=number)}) for number in range(2)]
    second = opened_of(values, *theirs, source=Source(OTHER, "main"), name=OTHER, main=False)
    comparison = comparison_of([opened_of(store, *shas), second], [Part(), Part(source=1)])
    found = window(comparison)
    offer = propose(comparison, found, blamed(found, "v1"))
    assert isinstance(offer, Offer)
    assert (offer.desk.number, offer.candidate.files) == (1, {"c.yaml": config("c", B=0).encode()})
    assert told(offer.candidate.remaining) == ["Job/gpt spec.template.spec.containers[trainer].env[A].value: 0 → 1"]
