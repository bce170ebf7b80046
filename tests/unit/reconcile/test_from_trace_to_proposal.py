"""Every cause that a commit can cause, from two traces to the pull request that undoes it."""

from dataclasses import replace

import pytest
import yaml

from mfu_operator.gitops.fingerprints import table
from mfu_operator.model.commit import Commit, FileChange
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.reconcile.conclude import conclude
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsurePullRequest, Investigate, Investigated
from tests.accuracy.trial import UNTOLD, attempt
from tests.support import worlds
from tests.support.repository_double import investigated
from tests.support.synthetic.faults import FAULTS
from tests.support.worlds import ailing, explained
from tests.unit.gitops.test_table import SLOWER
from tests.unit.reconcile.stories import story_world

CAUSES = sorted(table().causes)


def configuration(key: str, value: str | None) -> str:
    """A file in which a key has a value, or is not there."""
    return yaml.safe_dump({"seed": 1} if value is None else {"seed": 1, key: yaml.safe_load(value)})


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_that_two_traces_show_ends_in_a_pull_request_for_its_commit(cause: str) -> None:
    form = "nsys" if (cause, "kineto") in UNTOLD else "kineto"
    named = attempt(cause, 0.3, form, 1) if cause in FAULTS else None
    bottleneck = Bottleneck(table().causes[cause].bottleneck)
    if named is not None:
        assert (named.found, named.bottleneck) == (cause, bottleneck)
    _, key, before, after = next(row for row in SLOWER if row[0] == cause and not row[1].startswith("spec."))
    incident = explained(diagnosis=Diagnosis(bottleneck, cause, 0.9, ("two traces",)))
    world = story_world(ailing(incident), {"judgement": worlds.regressed(True)})
    step = decide(world)
    assert isinstance(step, Investigate) and step.question.cause == cause

    def commit(sha: str, subject: str, value: str | None, was: str | None) -> Commit:
        change = FileChange(f"{worlds.PATH}/train.yaml", was, configuration(key, value))
        return Commit(sha, (), "Pat", 0.0, subject, (change,))

    good = commit(worlds.GOOD, "Good", before, None)
    slow = commit(worlds.SLOW, "Slow", after, configuration(key, before))
    quiet = replace(worlds.COMMITS[0], parents=(worlds.SLOW,))
    findings = investigated([good, slow, quiet], replace(step.question, bad=worlds.QUIET))
    concluded = conclude(world, step, Investigated(findings))
    assert isinstance(concluded.then, EnsurePullRequest), findings.ranking.because
    assert concluded.then.proposal.revert_sha == worlds.SLOW
