"""What a container's command starts: a launcher of ranks, a training program, a server, a daemon that only waits, or
none of them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mfu_operator.profiling.plan.manifest import Manifest, text_at, variables_of, words_at

MOST_CHARACTERS = 65_536
"""Of a command that is looked at: more is a program, not a command."""

LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed", "mpirun",
             "mpiexec", "horovodrun", "colossalai", "srun", "dlrover-run", "tune", "axolotl", "llamafactory-cli",
             "composer", "nemo", "xpk", "hyperpodrun", "fabric")  # fmt: skip
"""Programs that start the ranks of a training run, by the name under which they are called."""

OVER_SSH = ("mpirun", "mpiexec", "horovodrun", "deepspeed")
"""Those of them that start ranks in other pods, by a daemon that waits there."""

_PER_NODE = re.compile(r"^--?(?:nproc[-_]per[-_]node|npernode|num_gpus|gpus[-_]per[-_]node|ntasks[-_]per[-_]node)$")
_ALL_DEVICES = ("gpu", "auto", "cuda", "xpu", "npu")
_TRAINS = re.compile(r"(^|[^a-z])(pre|re|fine)?[-_]?(train|trainer|training|finetune|pretrain|sft|dpo|grpo)([^a-z]|$)")
_SERVES = re.compile(r"(^|[-_./])(serve|server|serving|api_server|tritonserver|inference)(\.py|\.sh)?$")
"""Programs that answer requests: `vllm serve`, sglang.launch_server, multi-node-serving.sh, tritonserver."""

_SERVER_NAMES = re.compile(r"(^|[-/])(vllm|sglang|triton|tgi|server|serving|inference-sim)(-|$|:)")
"""Containers and images that answer requests, where no command says what runs."""

_DAEMON = "sshd"
_IDLE = ("sleep", "tail", _DAEMON)
_ENDS = (";", "&&", "||", "|", "&")
_BEFORE_PROGRAM = ("exec", "nohup", "sudo", "env", "time", "do", "then", "else", "if", "while", "until", "!", "{", "(")
_SHELLS = ("sh", "bash", "ash", "dash", "zsh")


@dataclass(frozen=True, slots=True)
class Command:
    """A container's command: its words with a shell's script taken apart, and what it stands for."""

    words: tuple[str, ...]

    @property
    def launcher(self) -> str | None:
        """The launcher of ranks that is called; None without one."""
        return next((name for word in self.words if (name := _name(word)) in LAUNCHERS), None)

    @property
    def waits(self) -> bool:
        """Whether the command only waits for others: a worker's sshd, a Ray node, a sleep."""
        last = self._last
        idle = any(_name(word) in _IDLE for word in last[:1]) or last[:2] == ("ray", "start")
        return idle and self.launcher is None and not any(_TRAINS.search(each.lower()) for each in self._started())

    @property
    def is_daemon(self) -> bool:
        """Whether it waits in sshd: what that starts has nothing of the container's environment."""
        return self.launcher is None and any(_name(word) == _DAEMON for word in self._last[:1])

    @property
    def serves(self) -> bool:
        """Whether it starts a program that answers requests, and none that trains."""
        return self.launcher is None and any(_SERVES.search(name) for name in self._programs())

    @property
    def trains(self) -> bool:
        """Whether it says by a launcher or a program's name that it trains."""
        return not self.waits and (
            self.launcher is not None or any(_TRAINS.search(word.lower()) for word in self.words)
        )

    @property
    def runs_probe(self) -> bool:
        """Whether `mfu_probe run` starts the program."""
        pairs = pairwise(word.rpartition("/")[2] for word in self.words)
        return any(first in ("mfu_probe", "mfu-probe") and second == "run" for first, second in pairs)

    @property
    def _last(self) -> tuple[str, ...]:
        """The words of the last simple command."""
        return next(reversed(tuple(self.simple_commands())), ())

    def simple_commands(self) -> Iterator[tuple[str, ...]]:
        """The simple commands of a shell's script, each without what stands before its program."""
        words: list[str] = []
        for word in (*self.words, ";"):
            if word not in _ENDS:
                if words or word not in _BEFORE_PROGRAM:
                    words.append(word)
                continue
            if words:
                yield tuple(words)
            words = []

    def _programs(self) -> Iterator[str]:
        """What is started: the first two words of each simple command, modules after -m, and files of programs."""
        for words in self.simple_commands():
            yield from (word for word in words[:2] if not word.startswith("-"))
            yield from (second for first, second in pairwise(words) if first == "-m")
            yield from (word for word in words[2:] if word.endswith((".py", ".sh")))

    def _started(self) -> Iterator[str]:
        """The names of the programs, modules and files that are started."""
        for words in self.simple_commands():
            yield _name(words[0])
            yield from (second for first, second in pairwise(words) if first == "-m")
            yield from (_name(word) for word in words if word.endswith((".py", ".sh")))

    def option(self, pattern: re.Pattern[str]) -> str | None:
        """The value of the last option whose name matches; None without one."""
        found = None
        for index, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if pattern.match(name):
                follows = self.words[index + 1] if index + 1 < len(self.words) else None
                found = value if equals else follows
        return found


def command_of(container: Manifest) -> Command:
    """The command of a container; without words where its image says it."""
    return Command(tuple(_taken_apart((*words_at(container, "command"), *words_at(container, "args")))))


def is_server(container: Manifest) -> bool:
    """Whether a container answers requests: its command says so, or its name or image where no command does."""
    if words_at(container, "command") or not all(word.startswith("-") for word in words_at(container, "args")[:1]):
        return command_of(container).serves
    names = (text_at(container, "name") or "", (text_at(container, "image") or "").rpartition("/")[2])
    return any(_SERVER_NAMES.search(name) for name in names)


def processes_of(command: Command, container: Manifest, said: int | str | None, gpus: int) -> int | None:
    """Ranks that one pod starts; None where nothing tells it.

    Args:
        said: what the workload's own field says, which its controller passes on to the launcher.
        gpus: accelerators of the pod: what "gpu" and "auto" stand for.
    """
    asked = command.option(_PER_NODE)
    if asked is None and (command.launcher is not None or not command.words):
        variables = dict(variables_of(container))
        asked = variables.get("PET_NPROC_PER_NODE") or variables.get("NPROC_PER_NODE") or _text(said)
    if asked is not None:
        return _number(_expanded(asked, container), gpus)
    if command.launcher in ("torchrun", "torch.distributed.run", "torch.distributed.launch"):
        return 1  # torchrun's default
    if command.launcher is not None or not command.words or _is_script(command):
        return None
    return 1 if said is None or isinstance(said, str) else said


def _name(word: str) -> str:
    """A program's name without its folder."""
    return word.rpartition("/")[2]


def _is_script(command: Command) -> bool:
    return any(word.endswith((".sh", ".bash")) for word in command.words)


def _text(value: int | str | None) -> str | None:
    return None if value is None else str(value)


def _expanded(text: str, container: Manifest) -> str:
    """A variable of the container in place of its value: `$NPROC`, `${NPROC}`, `${NPROC:-8}`, `$(NPROC)`."""
    match = re.fullmatch(r"\$[({]?([A-Za-z_]\w*)(?::-([^})]*))?[)}]?", text)
    if match is None:
        return text
    return dict(variables_of(container)).get(match[1]) or match[2] or text


def _number(text: str, gpus: int) -> int | None:
    if text.isdecimal() and len(text) < 6:
        return int(text)
    return gpus or None if text in _ALL_DEVICES else None


def _taken_apart(words: tuple[str, ...]) -> list[str]:
    """The words of a command, where a shell's script stands for the words in it."""
    found: list[str] = []
    budget = MOST_CHARACTERS
    for word in words:
        budget -= len(word)
        if budget < 0:
            break
        found += _script_words(word) if re.search(r"\s", word) else [word]
    is_shell = bool(found) and found[0].rpartition("/")[2] in _SHELLS
    return [word for word in found[1:] if word not in ("-c", "-lc", "-ec", "-exc")] if is_shell else found


def _script_words(text: str) -> list[str]:
    joined = text.replace("\\\n", " ").replace(";", " ; ").replace("&&", " && ").replace("\n", " ; ")
    try:
        return shlex.split(joined, comments=False)
    except ValueError:
        return joined.split()
