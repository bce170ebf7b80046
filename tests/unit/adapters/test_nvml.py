from types import SimpleNamespace
from typing import Any

from mfu_operator.adapters.nvml import hardware


class DriverError(Exception):
    pass


def driver(**replaced: Any) -> SimpleNamespace:
    def fails(*_: object) -> int:
        raise DriverError("Not Supported")

    calls: dict[str, Any] = {
        "NVMLError": DriverError,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1,
        "NVML_VOLATILE_ECC": 0,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda handle: "NVIDIA H200",
        "nvmlDeviceGetIndex": lambda handle: handle,
        "nvmlDeviceGetCurrPcieLinkGeneration": lambda handle: 4,
        "nvmlDeviceGetMaxPcieLinkGeneration": lambda handle: 5,
        "nvmlDeviceGetCurrPcieLinkWidth": lambda handle: 16,
        "nvmlDeviceGetMaxPcieLinkWidth": lambda handle: 16,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: 0x4,
        "nvmlDeviceGetTotalEccErrors": fails,
    }
    return SimpleNamespace(**(calls | replaced))


def test_every_gpu_is_read_and_what_a_card_cannot_say_is_unknown() -> None:
    reading = hardware("node-1", driver()).gpus[0]
    assert (reading.node, reading.gpu) == ("node-1", "NVIDIA H200 0")
    assert (reading.link_generation, reading.link_max_generation, reading.throttle_bits) == (4, 5, 0x4)
    assert reading.ecc_errors is None
    assert reading.xid is None


def test_no_driver_is_an_answer_of_its_own() -> None:
    def fails() -> None:
        raise DriverError("Driver Not Loaded")

    answer = hardware("node-1", driver(nvmlInit=fails))
    assert answer.gpus == ()
    assert answer.absent == "NVML is not available: Driver Not Loaded"


def test_a_pod_without_gpus_says_so() -> None:
    assert hardware("node-1", driver(nvmlDeviceGetCount=lambda: 0)).absent == "NVML sees no GPU in this pod"


def test_the_real_library_answers_on_a_machine_with_or_without_a_driver() -> None:
    answer = hardware("here")
    assert answer.gpus or answer.absent
