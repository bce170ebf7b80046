"""Python programs by meaning: constants that have a name, and all else as one text without comments and layout."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_CHARACTERS = 256 * 1024


@dataclass(slots=True)
class Program:
    """`constants` by their name (`name#1` where a name comes again); `rest` is the program without them."""

    constants: dict[str, Any] = field(default_factory=dict)
    rest: str = ""


def read(text: str) -> Program | None:
    """The program; None where the text is not Python, or longer than MAX_CHARACTERS."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        tree = ast.parse(text)
        program = Program()
        seen: Counter[str] = Counter()
        for name, node in _named(tree):
            program.constants[f"{name}#{seen[name]}" if seen[name] else name] = node.value
            seen[name] += 1
            node.value = 0
        _drop_docstrings(tree)
        program.rest = ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return program


def _named(tree: ast.AST) -> Iterator[tuple[str, ast.Constant]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg and isinstance(node.value, ast.Constant):
            yield node.arg, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets[:1]:
                yield _target(target), node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
            yield _target(node.target), node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    yield str(key.value), value
        elif isinstance(node, ast.Call):
            yield from _argument(node)


def _argument(node: ast.Call) -> Iterator[tuple[str, ast.Constant]]:
    """The default of `add_argument("--num-workers", default=4)`, by the option's name."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument" and node.args):
        return
    flag = node.args[0]
    for keyword in node.keywords:
        if keyword.arg == "default" and isinstance(keyword.value, ast.Constant) and isinstance(flag, ast.Constant):
            keyword.arg = None
            yield str(flag.value).lstrip("-").replace("-", "_"), keyword.value


def _target(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_target(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else "value"


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value.value = 0
