from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.model.series import HardwareReading

FLEET = MetricsSource(address="http://prometheus:9090")
JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
OTHER = WorkloadRef("batch/v1", "Job", "team-a", "gpt-large")
GPU = {"Hostname": "node-1", "gpu": "0", "modelName": "NVIDIA H200"}
EXPORTED = GPU | {"exported_namespace": "team-a", "exported_pod": "gpt-abc12", "namespace": "dcgm", "pod": "exporter-x"}
HONOURED = GPU | {"namespace": "team-a", "pod": "gpt-large-0-xyz"}


def hardware(rows: list[tuple[dict[str, str], str]]) -> dict[WorkloadRef, tuple[HardwareReading, ...]]:
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(parse_qs(request.content.decode())["query"][0])
        result = [{"metric": labels, "value": [1000.0, value]} for labels, value in rows]
        return httpx.Response(200, json={"status": "success", "data": {"result": result}})

    source = PrometheusSources(FLEET, None, httpx.MockTransport(handle)).open(MetricsSource(), None)
    assert isinstance(source, PrometheusMetrics)
    found = dict(source.hardware([JOB, OTHER], 1000.0))
    assert len(asked) == 1
    return found


def test_the_jobs_pod_is_the_exported_one_where_the_exporter_has_its_own() -> None:
    found = hardware(
        [
            (EXPORTED | {"__name__": "DCGM_FI_DEV_PCIE_LINK_WIDTH"}, "8"),
            (EXPORTED | {"__name__": "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH"}, "16"),
        ]
    )
    assert found == {JOB: (HardwareReading("node-1", "NVIDIA H200 0", link_width=8, link_max_width=16),)}


def test_honoured_labels_and_the_longest_name_are_understood() -> None:
    assert list(hardware([(HONOURED | {"__name__": "DCGM_FI_DEV_XID_ERRORS"}, "79")])) == [OTHER]


SCHEMES = [
    ("link_generation", 5, ["DCGM_FI_DEV_PCIE_LINK_GEN"]),
    ("link_max_generation", 5, ["DCGM_FI_DEV_PCIE_MAX_LINK_GEN"]),
    ("link_width", 16, ["DCGM_FI_DEV_PCIE_LINK_WIDTH"]),
    ("link_max_width", 16, ["DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH"]),
    ("throttle_bits", 4, ["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"]),
    ("xid", 79, ["DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"]),
    ("ecc_errors", 2, ["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"]),
    ("sm_active", 0.89, ["DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"]),
    ("tensor_active", 0.34, ["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"]),
]


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [(field, value, name) for field, value, names in SCHEMES for name in names],
)
def test_every_field_is_read_under_each_of_its_names(field: str, value: float, name: str) -> None:
    (reading,) = hardware([(EXPORTED | {"__name__": name}, str(value))])[JOB]
    assert getattr(reading, field) == value


def test_both_naming_schemes_give_the_same_reading() -> None:
    old = hardware([(EXPORTED | {"__name__": "DCGM_FI_PROF_SM_ACTIVE"}, "0.89")])
    new = hardware([(EXPORTED | {"__name__": "DCGM_FI_PROF_SM_UTIL_RATIO"}, "0.89")])
    assert old == new
    assert old[JOB][0].sm_active == 0.89


def test_no_series_is_no_reading_and_nan_is_none() -> None:
    assert hardware([]) == {}
    assert hardware([(EXPORTED | {"__name__": "DCGM_FI_DEV_XID_ERRORS"}, "NaN")])[JOB] == ()


@pytest.mark.parametrize("blank", ["9223372036854775792", "9223372036854775794", "140737488355328"])
@pytest.mark.parametrize("name", ["DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"])
def test_what_dcgm_writes_where_it_knows_nothing_is_no_value(name: str, blank: str) -> None:
    """DCGM_INT64_BLANK, DCGM_INT64_NOT_SUPPORTED and DCGM_FP64_BLANK of dcgm_structs.h."""
    assert hardware([(EXPORTED | {"__name__": name}, blank)])[JOB] == ()


def test_slices_of_one_gpu_are_told_apart() -> None:
    rows = [(EXPORTED | {"__name__": "DCGM_FI_PROF_SM_ACTIVE", "GPU_I_ID": each}, f"0.{each}") for each in ("7", "8")]
    found = hardware(rows)[JOB]
    assert [(each.gpu, each.sm_active) for each in found] == [
        ("NVIDIA H200 0 slice 7", 0.7),
        ("NVIDIA H200 0 slice 8", 0.8),
    ]
