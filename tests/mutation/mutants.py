"""The small changes that could be made to the decision core, each with a key that no moved line changes."""

import ast
import copy
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

CORE = (
    "detect", "trace/account", "trace/columns", "trace/diagnosis", "trace/names", "trace/read", "trace/analyze.py",
    "trace/termination_message.py", "gitops", "investigate", "reconcile", "cycle", "process/reconciler.py",
    "process/ticking.py", "process/membership.py", "process/fleet.py", "profiling/surgery.py", "adapters/git/branch.py",
    "api/decode.py",
)  # fmt: skip
"""Where a wrong decision blames a wrong commit or does something twice."""

TEXTS = ("gitops/message.py", "gitops/markdown.py")
"""In the folders of the core, but only words."""

LARGE = 100
"""From here on a number is doubled: one more would be the same to everybody."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOGS = {"log", "logger"}


@dataclass(frozen=True)
class Mutant:
    """One change: `text` in place of the bytes `begin` to `end` of a file, in the function of this qualified name.

    The function is the innermost one; outside of functions the name is that of the class, or empty.
    """

    path: str
    function: str
    change: str
    begin: int
    end: int
    text: str

    @property
    def key(self) -> str:
        return f"{self.path}:{self.function}: {self.change}"

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.begin] + self.text.encode() + source[self.end :]


def core_files(package: Path) -> list[Path]:
    """The decision core's files in the folder of the package mfu_operator."""
    roots = [package / name for name in CORE]
    files = {file for root in roots for file in (root.rglob("*.py") if root.is_dir() else [root])}
    return sorted(files - {package / name for name in TEXTS})


def all_mutants(package: Path, paths: Collection[str] | None = None) -> Iterator[Mutant]:
    """Every mutant of the core, in the order of its files; only of these files where `paths` names some."""
    for file in core_files(package):
        path = file.relative_to(package).as_posix()
        if paths is None or path in paths:
            yield from mutants_of(file.read_bytes(), path)


def mutants_of(source: bytes, path: str) -> Iterator[Mutant]:
    """Every mutant of one file; equal changes in one function are numbered."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[str] = Counter()
    for function, node, text in _changes(ast.parse(source), ""):
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        change = f"{ast.unparse(node)} -> {text}"
        seen[f"{function}: {change}"] += 1
        count = seen[f"{function}: {change}"]
        change = f"{change} (#{count})" if count > 1 else change
        in_place = f"({text})" if isinstance(node, ast.expr) else text
        yield Mutant(path, function, change, begin, end, in_place)


_Change = tuple[str, ast.expr | ast.stmt, str]


def _changes(node: ast.AST, function: str) -> Iterator[_Change]:
    """The changes beneath a node; none in annotations, decorators, assertions, texts and what is raised or
    logged."""
    if isinstance(node, ast.Assert | ast.JoinedStr) or _logs(node):
        return
    if isinstance(node, ast.Raise):
        yield function, node, "pass"
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inner = f"{function}.{node.name}" if function else node.name
        defaults = [] if isinstance(node, ast.ClassDef) else [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        for child in (*defaults, *node.body):
            yield from _changes(child, inner)
        return
    if isinstance(node, ast.expr):
        yield from ((function, node, ast.unparse(other)) for other in _expressions(node))
    else:
        yield from ((function, *changed) for changed in _statements(node))
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "ctx") and not _asserts(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _changes(child, function)


def _asserts(node: ast.AST) -> bool:
    """Whether a node is the `strict=True` of a `zip`, which asserts what holds and decides nothing."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _logs(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in LOGS
    return False


def _statements(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    match node:
        case ast.If(test=test):
            yield from ((test, text) for text in ("True", "False"))
        case ast.While(test=test):
            yield test, "False"
        case ast.comprehension(ifs=tests):
            yield from ((test, "True") for test in tests)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "return None"
        case ast.Continue():
            yield node, "break"
        case ast.Break():
            yield node, "continue"
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.AugAssign(op=op) if type(op) in OPERATIONS:
            changed = copy.deepcopy(node)
            changed.op = OPERATIONS[type(op)]()
            yield node, ast.unparse(changed)


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, ops, comparators):
            for number, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(left, [*ops[:number], other(), *ops[number + 1 :]], comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for number in range(len(values)):
                rest = [*values[:number], *values[number + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in OPERATIONS and not isinstance(left, ast.JoinedStr):
            yield ast.BinOp(left, OPERATIONS[type(op)](), right)
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1 if abs(value) < LARGE else 2 * value)
        case ast.Call(ast.Name(name), arguments, keywords) if name in FUNCTIONS:
            yield ast.Call(ast.Name(FUNCTIONS[name]), arguments, keywords)
        case ast.Call(ast.Name("replace") as function, arguments, keywords):
            for number in range(len(keywords)):
                yield ast.Call(function, arguments, [*keywords[:number], *keywords[number + 1 :]])
