"""A GitOps tool in memory, held to the same contract as the real ones."""

from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import ApplicationRef
from mfu_operator.model.commit import Source
from mfu_operator.model.workload import Workload

MARK = "double.invalid/application"


class DeliveryDouble:
    """Answers from `sources`; a workload belongs to the application that its annotation `MARK` names."""

    def __init__(self, sources: dict[ApplicationRef, Source] | None = None) -> None:
        self.sources = sources or {}
        self.fails: MfuError | None = None

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        self._fail()
        name = workload.annotations.get(MARK)
        return ApplicationRef("Application", "argocd", name) if name else None

    def source(self, application: ApplicationRef, workload: Workload) -> Source:
        self._fail()
        if application not in self.sources:
            raise Retry("ApplicationNotFound", f"there is no {application.namespace}/{application.name}")
        return self.sources[application]

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails
