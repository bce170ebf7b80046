"""Command lines by meaning: programs, their options and the variables that they set.

`--num-workers=4`, `--num-workers 4` and `--num_workers 4` are one option; `--no-amp` is `amp` switched off; the words
of `mpirun -x NAME=VALUE` and of `export NAME=VALUE` are variables; `key=value` words are Hydra's options.
The order of options does not count, the order of all other words does.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mfu_operator.gitops.rendered import shell

_LAUNCHERS = {
    "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "srun", "python", "python3", "colossalai",
    "torchx", "composer", "litgpt", "axolotl", "tune", "ray", "orterun", "prun", "nsys", "numactl",
    "lightning", "fabric",
}  # fmt: skip
_DISTRIBUTED = {
    "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "srun", "colossalai", "composer",
    "orterun", "prun",
}  # fmt: skip
_DISTRIBUTED_MODULES = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
_TRAINS = re.compile(r"train|tun(?:e|ing)|sft")
_WRAPPERS = {"exec", "time", "nohup", "sudo", "env", "command", "stdbuf", "then", "do", "else", "if", "!", "{"}
_VARIABLE_FLAGS = {"x", "env", "genv", "e"}
_OVERRIDE_FLAGS = {"set", "override", "overrides", "opts", "options", "cfg_options", "o", "c", "config_override"}
_NAMED_FLAGS = {"mca", "gmca"}
_ASSIGNED = re.compile(r"[+~]{0,2}([A-Za-z_][\w./@-]{0,200})=(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"([A-Za-z_]\w{0,200})=(.*)\Z", re.DOTALL)
_OPTION = re.compile(r"--?[A-Za-z][\w.:/-]{0,200}\Z")


EARLIER = "earlier "
"""How the key of an option begins that a later program of the same script gives again."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line and the field that it stands in."""

    text: str
    field: str
    raw: str


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that a command line says.

    `key` tells it apart within the container, `name` is what it is called in the table of causes, `variable` that it
    sets an environment variable. `value` is True for a bare flag and False for a negated one. `beside` is the program
    that it is of, where another one of the same command line trains.
    """

    key: str
    name: str
    value: str | bool
    word: Word
    variable: bool = False
    words: bool = False
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A configuration file that a script writes (`cat > ds.json <<EOF`)."""

    name: str
    text: str
    word: Word


def read(words: Sequence[Word]) -> Iterator[Option | Document]:
    """What a container's command and arguments say, in one list of words."""
    programs: list[list[Word]] = []
    documents: list[Document] = []
    _open(list(words), programs, documents, 0)
    several = len({_script(program) for program in programs if _launches(program)}) > 1
    training = _training(programs) if several else ()
    found: list[list[Option]] = []
    for program in programs:
        beside = _script(program) if training and _launches(program) and program not in training else ""
        found.append([replace(option, beside=beside) for option in _program(program, several)])
    yield from _each_of_its_own(found)
    yield from documents


def _each_of_its_own(programs: Sequence[Sequence[Option]]) -> Iterator[Option]:
    """The options with a key of its own for each of several programs that give the same: of branches one is taken, and
    of runs each is made. The last has the plain key, as where it is the only one."""
    later = Counter(key for options in programs for key in {option.key for option in options})
    for options in programs:
        later.subtract({option.key for option in options})
        for option in options:
            count = later[option.key]
            yield replace(option, key=f"{EARLIER}{count} {option.key}") if count else option


def _training(programs: Sequence[list[Word]]) -> Sequence[list[Word]]:
    """The programs that train: those that a distributed launcher starts, else those whose script's name says so."""
    running = [program for program in programs if _launches(program)]
    launched = [program for program in running if any(posixpath.basename(word.text) in _DISTRIBUTED or
                word.text in _DISTRIBUTED_MODULES for word in program)]  # fmt: skip
    named = [program for program in running if _TRAINS.search(_script(program).lower())]
    return [program for program in launched if program in named] or launched or named


def _open(words: list[Word], programs: list[list[Word]], documents: list[Document], depth: int) -> None:
    """Split words into programs; what a shell is handed as text is opened."""
    for index, word in enumerate(words):
        scripted = re.search(r"\s", word.text.strip()) is not None
        after_shell = any(posixpath.basename(before.text) in shell.SHELLS for before in words[:index])
        if depth < 4 and scripted and (after_shell or index == 0):
            script = shell.read(word.text)
            for program in script.programs:
                _open([Word(text, word.field, word.raw) for text in program], programs, documents, depth + 1)
            documents.extend(Document(_written(line), text, word) for line, text in script.documents)
            programs.append([later for later in words[index + 1 :] if later.text not in ("--", "_")])
            return
    programs.append(words)


def _written(line: str) -> str:
    words = line.replace(">", " ").split()
    return posixpath.basename(words[-1]) if words else "document"


def _launches(program: Sequence[Word]) -> bool:
    first = _first(program)
    return posixpath.basename(first).rstrip("0123456789.") in _LAUNCHERS or _is_script(first)


def _is_script(text: str) -> bool:
    return text.endswith((".py", ".sh", ".bash"))


def _first(program: Sequence[Word]) -> str:
    return next((word.text for word in program if word.text not in _WRAPPERS and not _VARIABLE.match(word.text)), "")


def _script(program: Sequence[Word]) -> str:
    """The name of what runs in the end: the script or the module, else the program itself."""
    texts = [word.text for word in program]
    for index, text in enumerate(texts):
        if _is_script(text):
            return posixpath.basename(text)
        if text in ("-m", "--module") and index + 1 < len(texts) and "run" not in texts[index + 1].split("."):
            return texts[index + 1]
    return posixpath.basename(_first(program))


def _program(program: list[Word], several: bool) -> Iterator[Option]:
    main = _launches(program)
    name = _script(program)
    prefix = (f"{name} " if several else "") if main else f"{name} "
    index, positional = 0, list[Word]()
    exporting = _first(program) in ("export", "declare", "typeset", "setenv")
    leading = True
    while index < len(program):
        word = program[index]
        text = word.text
        variable = _VARIABLE.match(text)
        if variable and (leading or exporting):
            yield Option(f"env {variable[1]}", variable[1], variable[2], word, variable=True)
            index += 1
            continue
        leading = leading and text in _WRAPPERS
        found, taken = _read_option(program, index)
        assigned = _ASSIGNED.match(text)
        if assigned and main:
            found, taken = Option(assigned[1], assigned[1], assigned[2], word), 1
        if found is None:
            positional.append(word)
            index += 1
            continue
        yield found if found.variable else _prefixed(found, prefix)
        index += taken
    for number, word in enumerate(positional):
        if not (exporting and number == 0):
            yield Option(f"{prefix}word {number}", "words", word.text, word, words=True)


def _prefixed(option: Option, prefix: str) -> Option:
    return Option(f"{prefix}--{option.key}", option.name, option.value, option.word)


def _read_option(program: Sequence[Word], index: int) -> tuple[Option | None, int]:
    word = program[index]
    flag, equals, value = word.text.partition("=")
    if not _OPTION.match(flag):
        return None, 0
    name = flag.lstrip("-").replace("-", "_")
    if equals:
        return _named(name, value, word), 1
    following = program[index + 1 : index + 3]
    if name in _NAMED_FLAGS and len(following) == 2:
        return Option(following[0].text, following[0].text, following[1].text, following[1]), 3
    if not following or not _is_value(following[0].text, name):
        return _bare(name, word), 1
    count = 1
    if any(_is_script(before.text) for before in program[:index]) and name not in _OVERRIDE_FLAGS:
        while index + 1 + count < len(program) and _is_value(program[index + 1 + count].text, name):
            count += 1
    values = [each.text for each in program[index + 1 : index + 1 + count]]
    return _named(name, " ".join(values), following[0]), 1 + count


def _is_value(text: str, flag: str) -> bool:
    if re.match(r"-{1,2}[A-Za-z]", text) or text.endswith((".py", ".sh")):
        return False
    assigned = _ASSIGNED.match(text)
    return not assigned or flag in _OVERRIDE_FLAGS | _VARIABLE_FLAGS or not re.match(r"[+A-Za-z_][\w.]*\Z", assigned[1])


def _named(name: str, value: str, word: Word) -> Option:
    variable = _VARIABLE.match(value)
    if name in _VARIABLE_FLAGS and (variable or re.fullmatch(r"[A-Z]\w*", value)):
        key, _, content = value.partition("=")
        return Option(f"env {key}", key, content if variable else "(handed on)", word, variable=True)
    assigned = _ASSIGNED.match(value)
    if name in _OVERRIDE_FLAGS and assigned:
        return Option(assigned[1], assigned[1], assigned[2], word)
    return Option(name, name, value, word)


def _bare(name: str, word: Word) -> Option:
    negated = re.match(r"no_+(?=\w)", name)
    meant = name[negated.end() :] if negated else name
    return Option(meant, meant, negated is None, word)
