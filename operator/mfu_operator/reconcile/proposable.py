"""Which diagnoses a revert may answer."""

from mfu_operator.model.diagnosis import Bottleneck, Diagnosis

NOT_A_COMMIT = (Bottleneck.HARDWARE_DEGRADED, Bottleneck.STRAGGLER)
"""What no commit can have caused: named, and never answered with a revert."""


def not_proposable(diagnosis: Diagnosis | None) -> tuple[str, str] | None:
    """(reason, message) why this diagnosis carries no proposal; None where it does, or is not there yet."""
    if diagnosis is None:
        return None
    said = "; ".join(diagnosis.evidence)
    if diagnosis.bottleneck is None:
        return (
            "Inconclusive",
            f"no part of the step grew beyond its spread, so there is nothing to blame a commit for: {said}",
        )
    if diagnosis.bottleneck is Bottleneck.INCONCLUSIVE:
        return "Inconclusive", f"the profile does not say where the time went: {said}"
    if diagnosis.bottleneck in NOT_A_COMMIT:
        return str(diagnosis.bottleneck), f"no commit did this: {said}"
    if not diagnosis.comparable:
        return "NotComparable", "the profile is not comparable: " + "; ".join(diagnosis.not_comparable_because)
    return None
