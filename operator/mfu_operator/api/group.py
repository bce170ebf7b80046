"""What the API is called. The one place that spells the group, its kinds, labels and annotations."""

GROUP = "mfu-operator.io"
VERSION = "v1alpha1"
GROUP_VERSION = f"{GROUP}/{VERSION}"
"""The apiVersion of every object of the group."""

KIND = "TrainingBaseline"
PLURAL = "trainingbaselines"
SHORT_NAME = "tb"

FINALIZER = f"{GROUP}/finalizer"
"""Keeps a baseline until the operator has let go of it. How to uninstall: charts/mfu-operator/README.md."""

ANNOTATION_PREFIX = GROUP
"""Where kopf keeps its own notes on an object."""

BASELINE_LABEL = f"{GROUP}/baseline"
"""On a profiling Job and its pod: the name of the TrainingBaseline that asked for it."""

INCIDENT_LABEL = f"{GROUP}/incident"
"""On a profiling Job and its pod: the incident (or the healthy profile) that it explains."""

CREDENTIALS_LABEL = f"{GROUP}/credentials"
"""On a Secret, "true": TrainingBaselines may name it. Its key `address` says where its other keys may be sent."""

GUARDED_ANNOTATION = f"{GROUP}/guarded"
"""On a TrainingBaseline that was made before the admission policy took effect: the uid of the policy's binding that
saw it since."""

GUARDS_ANNOTATION = f"{GROUP}/guards"
"""On a binding of the admission policy: the paths of the fields that it vouches for, with commas."""

RESET_ANNOTATION = f"{GROUP}/reset"
CLOSE_ANNOTATION = f"{GROUP}/close"
APPROVE_ANNOTATION = f"{GROUP}/approve"
REJECT_ANNOTATION = f"{GROUP}/reject"
SNOOZE_ANNOTATION = f"{GROUP}/snooze"
"""What a person asks of a TrainingBaseline by command. The operator takes note of it and removes it (api/requests)."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER = "mfu-operator"
"""The value of MANAGED_BY_LABEL on everything the operator creates, and the reporting component of its Events."""
