"""What stands below the first screen of a description: what it does when rendered, the numbers, the other commits."""

from mfu_operator.gitops.markdown import code, escape, table
from mfu_operator.gitops.telling.story import Story, listed, moved, short, token
from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.account import PARTS, StepAccount

OTHERS_SHOWN = 10
"""Other commits that are named; how many more there are is said."""

PART_NAMES = {
    "compute": "compute",
    "communication": "communication, exposed",
    "h2d": "copies host → device",
    "d2h": "copies device → host",
    "d2d": "copies device → device",
    "memset": "memset",
    "idleInput": "idle: waiting for input",
    "idleSync": "idle: synchronisation",
    "idleAlloc": "idle: allocation",
    "idleHost": "idle: other host work",
    "idleLaunch": "idle: launch latency",
    "idleUnknown": "idle: unknown",
}
"""How a step's parts are called."""


def account_table(healthy: StepAccount | None, now: StepAccount) -> str:
    """The step's parts in milliseconds side by side; parts below 0.05 ms on both sides are left out."""
    rows = [
        (
            PART_NAMES[part],
            *_cells(None if healthy is None else healthy.parts_ns.get(part, 0.0), now.parts_ns.get(part, 0.0)),
        )
        for part in PARTS
        if max(now.parts_ns.get(part, 0.0), healthy.parts_ns.get(part, 0.0) if healthy else 0.0) >= 50_000
    ]
    total = tuple(f"**{cell}**" for cell in _cells(None if healthy is None else healthy.mean_ns, now.mean_ns))
    return table(("part of the step, ms", "baseline", "now", "difference"), [*rows, ("**step**", *total)])


def effect(story: Story) -> str:
    """What the proposal does when it is rendered: what is left, and what it does to others."""
    undoing = story.undoing
    lines = ["### What it does, rendered before it was proposed", ""]
    if undoing.remaining:
        lines += ["What made the step slower is as it was. From the known good still differ", "",
                  *listed(undoing.remaining)]  # fmt: skip
    else:
        lines.append("The workload gets exactly what it got while it was fast.")
    if undoing.also:
        lines += ["", "> **Warning:** it changes other workloads too:", "", *listed(undoing.also)]
    else:
        lines += ["", "Rendered from this repository, no other workload gets anything else."]
    if undoing.remark:
        lines += ["", f"> **Warning:** {escape(undoing.remark)}"]
    return "\n".join(lines)


def other_commits(story: Story) -> str:
    """Why it was none of the other commits of the window."""
    others = [suspect for suspect in story.ranking.suspects if suspect is not story.suspect]
    if not others and story.suspect is None:
        return "### Why no commit\n\nNothing was deployed between the last good reading and the onset."
    if not others:
        return "### Why no other\n\nIt is the only commit between the last good revision and the onset."
    lines = [
        f"- {code(other.commit.sha[:7])} {code(other.commit.subject)}: "
        f"{escape(other.because[0] if other.because else 'gives the workload the same')}"
        for other in others[:OTHERS_SHOWN]
    ]
    if len(others) > OTHERS_SHOWN:
        lines.append(f"- and {len(others) - OTHERS_SHOWN} more")
    return "\n".join([f"### Why no {'other' if story.suspect else 'commit'}", "", *lines])


def after_merging(story: Story) -> str:
    """What the delivery and the operator do once it is merged, and what may stand in the way."""
    source, tool = story.source, escape(story.source.tool)
    lines = [
        f"1. {tool} syncs the branch {code(source.branch)}.",
        f"2. {_replacement(source.replaces_immutable, tool)}",
    ]
    lines.append(
        "3. The operator measures against the same baseline, and says in a comment here whether training recovered."
    )
    warnings = [
        f"> **Warning:** {escape(updater)} writes images to this path by itself and may undo this change. Pause it or "
        "let it skip the version."
        for updater in (*source.updaters, *(story.suspect.updaters if story.suspect else ()))
    ]
    warnings.extend(f"> **Warning:** {escape(short(warning))}" for warning in source.warnings)
    if source.replaces_immutable is False:
        warnings.insert(0, f"> **Warning:** {_not_replaced(tool)}")
    return "\n".join(["### What happens after merging", "", *lines, *(f"\n{warning}" for warning in warnings)])


def _replacement(replaces: bool | None, tool: str) -> str:
    if replaces is None:
        return "The workload's controller replaces the pods."
    if replaces:
        return f"{tool} replaces the job; it starts again from its last checkpoint."
    return f"{tool} will **not** replace the job by itself (see the warning)."


def _not_replaced(tool: str) -> str:
    mark = "`kustomize.toolkit.fluxcd.io/force: enabled`"
    if tool != "Flux":
        mark = "`argocd.argoproj.io/sync-options: Force=true,Replace=true`"
    return (
        f"a job's template cannot be changed in place, and the workload lacks the annotation {mark}. After merging, "
        "the sync fails until the annotation is added, or the job is deleted by hand, or given a new name."
    )


def explanation(story: Story) -> str:
    """Where the time went, with the evidence."""
    diagnosis = story.incident.diagnosis
    if diagnosis is None or diagnosis.bottleneck is None:
        return ""
    cause = f", cause {code(diagnosis.cause)}" if diagnosis.cause else ""
    lines = [f"### Diagnosis\n\n{code(diagnosis.bottleneck)}{cause}, confidence {diagnosis.confidence:.0%}."]
    lines.extend(f"- {escape(short(line))}" for line in diagnosis.evidence)
    if diagnosis.runbook:
        lines.append("\n" + _runbook(diagnosis.runbook, story.runbooks))
    return "\n".join([lines[0], "", *lines[1:]]) if len(lines) > 1 else lines[0]


def _runbook(runbook: str, base: str) -> str:
    name = token(runbook)
    page = name.removeprefix("runbooks/")
    if not base:
        return f"Runbook: {code('kubectl mfu runbook ' + page.removesuffix('.md'))}"
    return f"Runbook: [{escape(name)}]({base.rstrip('/')}/{page})"


def numbers(story: Story) -> str:
    """What was measured, as a table."""
    incident = story.incident
    row = (
        signal_name(incident.signal),
        value(incident.signal, incident.baseline_value),
        value(incident.signal, incident.regressed_value),
        moved(incident),
    )
    return "### What was measured\n\n" + table(("", "baseline", "now", "change"), [row])


def step(story: Story) -> str:
    """The step's parts in milliseconds."""
    profile = story.incident.profile
    if profile is None or profile.account is None:
        return ""
    now = profile.account
    of = "the training thread's ranges" if now.account_from == "nvtx" else "the device"
    note = f"Mean of {now.count} profiled steps, the account of {of}."
    return f"### One step\n\n{account_table(story.healthy, now)}\n\n{note}"


def _cells(before: float | None, now: float) -> tuple[str, str, str]:
    if before is None:
        return "–", f"{now / 1e6:.1f}", "–"
    difference = (now - before) / 1e6
    sign = "+" if difference >= 0.05 else "−" if difference <= -0.05 else ""
    return f"{before / 1e6:.1f}", f"{now / 1e6:.1f}", f"{sign}{abs(difference):.1f}"
