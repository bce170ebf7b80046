"""Command lines by meaning: what their options are called, which value they have, and whose they are."""

import shlex

import pytest

from mfu_operator.gitops.rendered.commands import Document, Option, Word, read


def options(*texts: str) -> list[Option]:
    found = read([Word(text, f"args[{number}]", text) for number, text in enumerate(texts)])
    return [each for each in found if isinstance(each, Option)]


def said(*texts: str) -> dict[str, str | bool]:
    """The options and variables by key, words that are none left out."""
    return {each.key: each.value for each in options(*texts) if not each.words}


def words(*texts: str) -> dict[str, str | bool]:
    return {each.key: each.value for each in options(*texts) if each.words}


def script(text: str) -> tuple[str, ...]:
    return "bash", "-c", text


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["--num-workers=4"], {"--num_workers": "4"}),
        (["--num-workers", "4"], {"--num_workers": "4"}),
        (["--num_workers", "-4"], {"--num_workers": "-4"}),
        (["-n", "4"], {"--n": "4"}),
        (["--data=a=b"], {"--data": "a=b"}),
        (["--empty="], {"--empty": ""}),
        (["--amp"], {"--amp": True}),
        (["--amp", "--bf16"], {"--amp": True, "--bf16": True}),
        (["--no-amp"], {"--amp": False}),
        (["--no_amp", "--north", "--no"], {"--amp": False, "--north": True, "--no": True}),
        (["--a", "1", "--b", "2"], {"--a": "1", "--b": "2"}),
        (["--betas", "0.9", "0.95", "--lr", "1"], {"--betas": "0.9 0.95", "--lr": "1"}),
        (["--amp", "other.py"], {"--amp": True}),
        (["--amp", "run.sh"], {"--amp": True}),
        (["lr=0.1", "+data.workers=2", "++x=", "~y=1"], {"--lr": "0.1", "--data.workers": "2", "--x": "", "--y": "1"}),
        (["--amp", "lr=1"], {"--amp": True, "--lr": "1"}),
        (["--store", "a/b=c"], {"--store": "a/b=c"}),
        (["--url", "s3://a?b=c"], {"--url": "s3://a?b=c"}),
        (["--a=1", "2", "--b"], {"--a": "1", "--b": True}),
        (["--a=1", "--b=2"], {"--a": "1", "--b": "2"}),
        (["env", "A=1"], {"--A": "1"}),
        (["--set", "lr=1", "amp=2"], {"--lr": "1", "--amp": "2"}),
        (["--set", "word", "more"], {"--set": "word"}),
        (["--override=a.b=1"], {"--a.b": "1"}),
        (["--name=a.b=1"], {"--name": "a.b=1"}),
        (["--1"], {}),
    ],
)
def test_options_have_one_name_however_they_are_written(texts: list[str], meant: dict[str, str | bool]) -> None:
    assert said("python", "train.py", *texts) == meant


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["mpirun", "-x", "NCCL_DEBUG=INFO", "python", "t.py"], {"env NCCL_DEBUG": "INFO"}),
        (["mpirun", "-x", "PATH", "python", "t.py"], {"env PATH": "(handed on)"}),
        (["mpirun", "-x", "lower", "python", "t.py"], {"--x": "lower"}),
        (["mpirun", "--env=a=1", "python", "t.py"], {"env a": "1"}),
        (["mpirun", "--mca", "btl", "tcp", "--np", "8", "t.py"], {"--btl": "tcp", "--np": "8"}),
        (["mpirun", "--mca", "btl"], {"--mca": "btl"}),
        (["A=1", "B=", "python", "t.py", "C=2"], {"env A": "1", "env B": "", "--C": "2"}),
        (["env", "A=1", "nohup", "B=2", "python", "t.py"], {"env A": "1", "env B": "2"}),
        (["export", "A=1", "B=2"], {"env A": "1", "env B": "2"}),
        (["declare", "-x", "A=1"], {"env A": "1"}),
        (["torchrun", "--standalone", "t.py", "--a", "1"], {"--standalone": True, "--a": "1"}),
        (["torchrun", "--nproc", "8", "16", "t.py"], {"--nproc": "8"}),
    ],
)
def test_variables_and_launchers_have_their_own_ways(texts: list[str], meant: dict[str, str | bool]) -> None:
    assert said(*texts) == meant


def test_a_variable_is_told_from_an_option() -> None:
    (variable,) = options("export", "A=1")
    assert variable == Option("env A", "A", "1", Word("A=1", "args[1]", "A=1"), variable=True)
    assert [each.variable for each in options("mpirun", "-x", "A=1", "--np", "1")] == [True, False, False]
    assert options("mpirun", "-x", "A")[0].name == "A"


def test_an_option_stands_in_the_field_of_its_value() -> None:
    apart, joined = options("python", "t.py", "--a", "1", "--b=2", "--c")[:2]
    assert (apart.name, apart.word.field) == ("a", "args[3]")
    assert (joined.name, joined.word.field) == ("b", "args[4]")
    assert options("python", "t.py", "--c")[0].word.field == "args[2]"
    assert options("mpirun", "--mca", "btl", "tcp", "x")[0] == Option(
        "--btl", "btl", "tcp", Word("tcp", "args[3]", "tcp")
    )
    assert options("python", "t.py", "lr=1")[0] == Option("--lr", "lr", "1", Word("lr=1", "args[2]", "lr=1"))
    assert options("python", "t.py", "--set", "lr=1")[0].name == "lr"


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["python", "t.py"], {"word 0": "python", "word 1": "t.py"}),
        (["torchrun", "--nproc", "8", "16", "t.py"], {"word 0": "torchrun", "word 1": "16", "word 2": "t.py"}),
        (["ls", "-l", "a=1"], {"ls word 0": "ls", "ls word 1": "a=1"}),
        (["/bin/echo", "A=1"], {"echo word 0": "/bin/echo", "echo word 1": "A=1"}),
        (["export", "A"], {"export word 1": "A"}),
        (["export", "A=1"], {}),
        ([], {}),
    ],
)
def test_all_other_words_keep_their_order(texts: list[str], meant: dict[str, str]) -> None:
    assert words(*texts) == meant
    assert {each.name for each in options(*texts) if each.words} <= {"words"}


@pytest.mark.parametrize(
    "texts",
    [
        ["python3.11", "t.py", "a=1"],
        ["/opt/bin/torchrun", "t.py", "a=1"],
        ["./t.py", "a=1"],
        ["run.sh", "a=1"],
        ["run.bash", "a=1"],
        ["exec", "python", "t.py", "a=1"],
        ["X=1", "python", "t.py", "a=1"],
        ["accelerate", "launch", "a=1"],
    ],
)
def test_what_runs_a_program_takes_overrides(texts: list[str]) -> None:
    assert said(*texts)["--a"] == "1"


@pytest.mark.parametrize("texts", [["ls", "a=1"], ["cat", "t.py", "a=1"], ["exec", "ls", "a=1"], ["pythonic", "a=1"]])
def test_what_runs_none_does_not(texts: list[str]) -> None:
    assert said(*texts) == {}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("python a.py --x 1\npython b.py --x 2", ["a.py --x", "b.py --x"]),
        ("python a.py --x 1\npython a.py --y 2", ["--x", "--y"]),
        ("python a.py --x 1\nls --y", ["--x", "ls --y"]),
        ("python a.py --x 1", ["--x"]),
        ("python -m pkg.a --x 1\npython -m pkg.b --x 2", ["pkg.a --m", "pkg.a --x", "pkg.b --m", "pkg.b --x"]),
        ("python -m torch.distributed.run a.py --x 1\npython b.py --x 2", ["a.py --m", "a.py --x", "b.py --x"]),
        ("litgpt --x 1\npython b.py --x 2", ["litgpt --x", "b.py --x"]),
        ("python --module pkg.a\npython b.py -m", ["pkg.a --module", "b.py --m"]),
        ("/app/a.sh --x 1\n/app/b.sh --x 2", ["a.sh --x", "b.sh --x"]),
        ("X=1 time a.sh --x 1\nnohup b.sh --x 2", ["env X", "a.sh --x", "b.sh --x"]),
        ("litgpt -m\npython b.py", ["litgpt --m"]),
    ],
)
def test_where_several_programs_run_each_options_program_is_part_of_its_key(text: str, keys: list[str]) -> None:
    assert list(said(*script(text))) == keys


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("torchrun main.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("/opt/bin/torchrun main.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("python -m torch.distributed.run main.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("python train.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("python finetune.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("python TRAIN.py --x 1\npython eval.py --x 2", {"eval.py"}),
        ("torchrun main.py --x 1\npython train.py --x 2", {"train.py"}),
        ("torchrun train.py --x 1\ntorchrun export.py --x 2\npython train_b.py --x 3", {"export.py", "train_b.py"}),
        ("torchrun main.py --x 1\ntorchrun export.py --x 2\npython eval.py --x 3", {"eval.py"}),
        ("python a.py --x 1\npython b.py --x 2", set()),
        ("python train_a.py --x 1\npython train_b.py --x 2", set()),
        ("python train.py --x 1\nls --x", set()),
        ("torchrun a.py --x 1\npython a.py --x 2", set()),
        ("cat train.py\npython a.py --x 1\npython b.py --x 2", set()),
        ("python train.py --x 1\npython train.py --x 2", set()),
        ("python train.py --x 1\npython eval.py --x 2\nls --x 3", {"eval.py"}),
    ],
)  # fmt: skip
def test_what_runs_beside_the_program_that_trains_is_told(text: str, beside: set[str]) -> None:
    found = options(*script(text))
    assert {each.beside for each in found} - {""} == beside
    assert all(each.beside in ("", each.key.split(" ")[0]) for each in found)
    assert [each for each in found if not each.beside]


def test_a_shells_text_is_opened_and_what_it_is_handed_is_read_too() -> None:
    assert said("bash", "-c", "python t.py --a 1", "--", "--b", "2", "_") == {"--a": "1", "--b --b": "2"}
    assert said("bash", "-c", "python t.py --a 1", "--b", "2") == {"--a": "1", "--b --b": "2"}
    assert words("bash", "-c", "python t.py --a 1") == {"word 0": "python", "word 1": "t.py"}
    assert said("/bin/sh", "-ec", "python t.py --a 1") == {"--a": "1"}
    assert said("exec", "sh", "-c", "python t.py --a 1") == {"--a": "1"}
    assert said("python t.py --a 1") == {"--a": "1"}
    assert said("bash", "run.sh") == {}


def test_a_text_that_no_shell_is_handed_is_a_word() -> None:
    assert said("python", "t.py", "--note", "two words") == {"--note": "two words"}
    assert said("bash", "-c", " true ") == {"bash --c": " true "}


@pytest.mark.parametrize(("levels", "opened"), [(1, True), (4, True), (5, False)])
def test_shells_in_shells_are_opened_to_a_bound(levels: int, opened: bool) -> None:
    text = "python t.py --a 1"
    for _ in range(levels - 1):
        text = f"bash -c {shlex.quote(text)}"
    assert (said("bash", "-c", text) == {"--a": "1"}) is opened


@pytest.mark.parametrize(
    ("line", "name"),
    [("cat > /etc/ds.json <<EOF", "ds.json"), ("cat >a.yaml <<EOF", "a.yaml"), ("<<EOF", "document")],
)
def test_a_document_that_a_script_writes_has_the_name_of_its_file(line: str, name: str) -> None:
    text = f"{line}\na: 1\nEOF\npython t.py"
    documents = [each for each in read([Word(text, "command[0]", text)]) if isinstance(each, Document)]
    assert documents == [Document(name, "a: 1", Word(text, "command[0]", text))]
