"""Every reason that the operator can give, read from its source."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mfu_operator import errors

OPERATOR = Path(__file__).parents[2] / "operator" / "mfu_operator"
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.MfuError)}
CAMEL_CASE = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]*)*")
NO_REASON = {"True", "False", "None", "Normal", "Warning"}


def given_reasons() -> dict[str, str]:
    """Reason → the file and line that gives it."""
    found: dict[str, str] = {}
    for path in sorted(OPERATOR.rglob("*.py")):
        tree = ast.parse(path.read_text())
        constants = _constants(tree)
        for node in ast.walk(tree):
            for reason in (*_of_call(node), *_of_tuple(node, constants), *_of_name(node)):
                found.setdefault(reason, f"{path.relative_to(OPERATOR)}:{getattr(node, 'lineno', 0)}")
    return found


def event_reasons() -> set[str]:
    """The reasons of Events that are written out."""
    calls = [
        node
        for path in OPERATOR.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _called(node) == "Event" and len(node.args) > 1
    ]
    return {text for call in calls if (text := _constant(call.args[1]))}


def observed_causes() -> dict[str, set[str]]:
    """Bottleneck → the causes that are read off hardware and ranks, not out of a trace."""
    found: dict[str, set[str]] = {}
    for name in ("detect/hardware.py", "reconcile/incident.py"):
        for node in ast.walk(ast.parse((OPERATOR / name).read_text())):
            if isinstance(node, ast.Call) and _called(node) in ("Finding", "Diagnosis") and len(node.args) > 1:
                cause = _constant(node.args[1])
                page = "Straggler" if "STRAGGLER" in ast.unparse(node.args[0]) else "HardwareDegraded"
                if cause:
                    found.setdefault(page, set()).add(cause)
    return found


def _of_call(node: ast.AST) -> Iterator[str]:
    """The first argument of an error, the third of a Condition."""
    if not isinstance(node, ast.Call):
        return
    place = 0 if _called(node) in ERRORS else 2 if _called(node) == "Condition" else None
    if place is not None and len(node.args) > place and (reason := _constant(node.args[place])):
        yield reason


def _of_tuple(node: ast.AST, constants: Mapping[str, str]) -> Iterator[str]:
    """(…, reason, message): a CamelCase word, or the module's constant that holds it, followed by a sentence."""
    if not isinstance(node, ast.Tuple) or len(node.elts) not in (2, 3):
        return
    word, sentence = node.elts[-2:]
    reason = constants.get(word.id) if isinstance(word, ast.Name) else _constant(word)
    if reason and reason not in NO_REASON and CAMEL_CASE.fullmatch(reason) and _is_sentence(sentence):
        yield reason


def _constants(module: ast.Module) -> dict[str, str]:
    """The module's constants that hold a text."""
    return {
        target.id: text
        for each in module.body
        if isinstance(each, ast.Assign) and (text := _constant(each.value))
        for target in each.targets
        if isinstance(target, ast.Name)
    }


def _of_name(node: ast.AST) -> Iterator[str]:
    """reason = "One" if … else "Another"."""
    named = isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "reason" for to in node.targets)
    if isinstance(node, ast.Assign) and named:
        choices = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
        yield from filter(CAMEL_CASE.fullmatch, (_constant(choice) or "" for choice in choices))


def _is_sentence(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in ("because", "message")
    if isinstance(node, ast.BinOp):
        return _is_sentence(node.left)
    if isinstance(node, ast.Call):
        return (_called(node) or "").startswith("_")
    return " " in (_constant(node) or "")


def _called(node: ast.Call) -> str | None:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
