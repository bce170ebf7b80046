"""A GitOps tool in memory, held to the same contract as the real ones."""

from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.workload import Workload

MARK = "double.invalid/application"


class DeliveryDouble:
    """Answers from `sources`; a workload belongs to the application that its annotation `MARK` names, and
    is deployed by it unless it is `foreign`."""

    def __init__(self, sources: dict[ApplicationRef, Source] | None = None) -> None:
        self.sources = sources or {}
        self.foreign: set[WorkloadRef] = set()
        self.fails: MfuError | None = None

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        self._fail()
        name = workload.annotations.get(MARK)
        return ApplicationRef("Application", "argocd", name) if name else None

    def source(self, application: ApplicationRef, ref: WorkloadRef, workload: Workload) -> Source:
        self._fail()
        if application not in self.sources:
            raise Retry("ApplicationNotFound", f"there is no {application.namespace}/{application.name}")
        if ref in self.foreign:
            raise Stall("NotDeployedByApplication", f"{application.name} does not deploy {ref.name}")
        return self.sources[application]

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails
