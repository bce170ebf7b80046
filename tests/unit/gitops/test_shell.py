"""A script as the programs that it runs: what a shell would take for a word, a program and a document."""

import pytest

from mfu_operator.gitops.rendered.shell import MAX_CHARACTERS, read


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("cd /app\ntorchrun train.py --workers 0", [["cd", "/app"], ["torchrun", "train.py", "--workers", "0"]]),
        ("cd /app; ls && a || b | c & (d)", [["cd", "/app"], ["ls"], ["a"], ["b"], ["c"], ["d"]]),
        ("train --a 1 \\\n  --b 2", [["train", "--a", "1", "--b", "2"]]),
        ("a\\ b c\\", [["a b", "c"]]),
        ("train 'one word' \"it's \\\"two\\\"\" ''", [["train", "one word", 'it\'s "two"', ""]]),
        ('train \'\\"\' "a\\\nb"', [["train", '\\"', "ab"]]),
        ("train x'y'\"z\"", [["train", "xyz"]]),
        ("train # a remark; rm\nls a#b", [["train"], ["ls", "a#b"]]),
        ("train $(nproc --all; (echo 1)) end", [["train", "$(nproc --all; (echo 1))", "end"]]),
        ("train $(never", [["train", "$(never"]]),
        ("train 'never", [["train", "never"]]),
        ("cat <<< word", [["cat", "<<<", "word"]]),
        ("\n ; \n", []),
    ],
)
def test_a_script_is_read_as_a_shell_would(text: str, programs: list[list[str]]) -> None:
    assert read(text).programs == programs


@pytest.mark.parametrize("mark", ["EOF", "'EOF'", '"EOF"', "- EOF", "-EOF"])
def test_a_here_document_belongs_to_the_line_it_stands_in(mark: str) -> None:
    script = read(f"cat > a.yaml <<{mark}\nworkers: 0\n  b: 1\n  EOF\ntrain a.yaml")
    assert script.programs == [["cat", ">", "a.yaml"], ["train", "a.yaml"]]
    assert script.documents == [("cat > a.yaml", "workers: 0\n  b: 1")]


def test_several_documents_of_a_line_come_in_their_order_and_the_last_may_never_end() -> None:
    script = read("paste <<ONE <<TWO_2\na\nONE\nb\nc")
    assert script.documents == [("paste", "a"), ("paste", "b\nc")]
    assert script.programs == [["paste"]]


def test_a_document_of_no_program_and_a_mark_without_a_name_are_nobodys() -> None:
    assert read("<<EOF\na\nEOF").documents == [("", "a")]
    assert read("cat << !\na").documents == []


def test_a_here_string_begins_no_document() -> None:
    assert read("cat <<<word\ntrain --workers 0\n").programs == [["cat", "<<<word"], ["train", "--workers", "0"]]


def test_what_lies_behind_the_bound_is_a_word_of_its_own() -> None:
    text = "a " * (MAX_CHARACTERS // 2)
    assert len(read(text).programs) == 1
    assert read(f"{text}b c").programs[1:] == [["b c"]]
