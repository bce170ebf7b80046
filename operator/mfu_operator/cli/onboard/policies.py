"""Whether NetworkPolicies keep the profiling Job from the training pods."""

from collections.abc import Iterator, Mapping
from typing import Any

from mfu_operator.cli.onboard.subject import Subject
from mfu_operator.profiling.live.job import COORDINATOR, PURPOSE_LABEL
from mfu_operator.profiling.plan.manifest import Manifest, mapping_at, mappings_at, text_at, words_at

COORDINATOR_LABELS = {PURPOSE_LABEL: COORDINATOR}


def isolating(subject: Subject) -> tuple[str, ...] | None:
    """The names of the policies that select the training pods for what comes in, or the profiling Job's for what goes
    out; None where nobody knows. Labels that controllers add to pods are not known: a policy that needs one of them is
    left out."""
    if subject.surroundings.policies is None:
        return None
    return tuple(_names(subject))


def _names(subject: Subject) -> Iterator[str]:
    for policy in subject.surroundings.policies or ():
        spec = mapping_at(policy, "spec")
        kinds = words_at(spec, "policyTypes") or ("Ingress", *(("Egress",) if "egress" in spec else ()))
        selector = mapping_at(spec, "podSelector")
        comes_in = "Ingress" in kinds and _selects(selector, subject.pod_labels)
        goes_out = "Egress" in kinds and _selects(selector, COORDINATOR_LABELS)
        name = text_at(policy, "metadata", "name") or ""
        if (comes_in or goes_out) and name not in ("mfu-capture-coordinator", "mfu-capture-ranks"):
            yield name


def _selects(selector: Manifest, labels: Mapping[str, Any]) -> bool:
    wanted = mapping_at(selector, "matchLabels")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(each, labels) for each in mappings_at(selector, "matchExpressions"))


def _meets(expression: Manifest, labels: Mapping[str, Any]) -> bool:
    key, values = str(expression.get("key")), words_at(expression, "values")
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
