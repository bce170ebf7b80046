"""What `doctor` found out, told to people and to programs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mfu_operator.cli.doctor.findings import Finding
from mfu_operator.gitops.markdown import code, escape


@dataclass(frozen=True, slots=True)
class Examination:
    """The source that was asked, by which profile and of which workload; what came back, and what to do."""

    source: str
    profile: str
    workload: str
    findings: tuple[Finding, ...]
    advice: tuple[str, ...]


def as_object(found: Examination) -> Mapping[str, Any]:
    """For programs; a finding's ok is null where the signal is absent and the job can be judged without it."""
    return {
        "source": found.source,
        "profile": found.profile,
        "workload": found.workload,
        "findings": [asdict(each) for each in found.findings],
        "advice": list(found.advice),
    }


def as_text(found: Examination) -> str:
    """A line for each query, and what to change below it."""
    head = [f"source    {found.source}  profile {found.profile}", f"workload  {found.workload}"]
    return "\n".join([*head, *map(str, found.findings), *(f"→ {each}" for each in found.advice)])


def as_markdown(found: Examination) -> str:
    """A table of the queries, and a list of what to do."""
    rows = [("", "signal", "what came back", "query", "what to change"), (":--",) * 5]
    rows += [
        (_mark(each), each.kind, escape(each.told), code(each.query), escape(each.advice)) for each in found.findings
    ]
    table = ["| " + " | ".join(row) + " |" for row in rows]
    head = [
        f"# Metrics of {code(found.workload)}",
        "",
        f"From {code(found.source)}, profile {code(found.profile)}.",
        "",
    ]
    return "\n".join([*head, *table, "", *(f"- {escape(each)}" for each in found.advice)]).rstrip()


def _mark(finding: Finding) -> str:
    return {True: "ok", False: "**BAD**", None: "–"}[finding.ok]
