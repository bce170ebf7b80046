"""What the driver says about the GPUs of this pod: link, clocks, errors. Used in the profiling pod."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pynvml

from mfu_operator.model.series import HardwareReading


@dataclass(frozen=True, slots=True)
class Hardware:
    """The GPUs, or why there are none to ask about. `absent` is a sentence; no GPUs is not "healthy"."""

    gpus: tuple[HardwareReading, ...] = ()
    absent: str | None = None


def hardware(node: str, driver: Any = pynvml) -> Hardware:
    """Read every visible GPU. XID errors are not to be had from NVML after the fact (it only waits for new ones).

    Args:
        node: the node's name, to be carried in the readings.
        driver: the module `pynvml`, or something like it.
    """
    try:
        driver.nvmlInit()
    except driver.NVMLError as error:
        return Hardware(absent=f"NVML is not available: {error}")
    try:
        count = int(driver.nvmlDeviceGetCount())
        gpus = tuple(_read(driver, driver.nvmlDeviceGetHandleByIndex(index), node) for index in range(count))
    except driver.NVMLError as error:
        return Hardware(absent=f"NVML failed: {error}")
    finally:
        _asked(driver, driver.nvmlShutdown)
    return Hardware(gpus, None if gpus else "NVML sees no GPU in this pod")


def _read(driver: Any, handle: Any, node: str) -> HardwareReading:
    def ask(name: str, *arguments: Any) -> int | None:
        call = getattr(driver, name, None)
        return None if call is None else _asked(driver, lambda: int(call(handle, *arguments)))

    name = driver.nvmlDeviceGetName(handle)
    index = ask("nvmlDeviceGetIndex")
    return HardwareReading(
        node=node,
        gpu=f"{name.decode() if isinstance(name, bytes) else name} {index if index is not None else '?'}",
        link_generation=ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        link_max_generation=ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        link_width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
        link_max_width=ask("nvmlDeviceGetMaxPcieLinkWidth"),
        throttle_bits=ask("nvmlDeviceGetCurrentClocksEventReasons"),
        ecc_errors=ask(
            "nvmlDeviceGetTotalEccErrors", driver.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, driver.NVML_VOLATILE_ECC
        ),
    )


def _asked(driver: Any, call: Callable[[], int | None]) -> int | None:
    """The answer, None where this card or driver has none."""
    try:
        return call()
    except driver.NVMLError:
        return None
