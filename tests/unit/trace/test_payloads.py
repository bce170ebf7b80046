"""What NCCL says of its collectives in the payloads of its NVTX ranges, by the layouts of a real nsys export."""

import sqlite3
import struct
from pathlib import Path

import pytest

from mfu_operator.model import facts
from mfu_operator.model.trace import Trace
from mfu_operator.trace.account.collectives import kinds_of, messages_of
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.columns.parts import COMMUNICATION
from mfu_operator.trace.read import formats
from tests.support.synthetic.loop import ALLREDUCE, Loop
from tests.support.synthetic.nsys_file import PROCESS, NsysFile

REAL = Path("tests/data/traces/nsys/h100_2gpu_1s.sqlite")
MIB = 1 << 20
DOMAIN, COLLECTIVE, SEND, INIT, GROUP = 1, 16777220, 16777226, 16777218, 16777230
"""Numbers of NCCL's domain and of its layouts in the real export."""

COMMUNICATOR = 0xFEEDFACECAFEBEEF
SENT = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def payload(schema: int, form: str, *values: int) -> bytes:
    body = struct.pack(form, *values)
    return struct.pack("<IIIIQQ", DOMAIN, 0, schema, 0, len(body), 32 + len(body)) + body


def message(size: int) -> bytes:
    return payload(COLLECTIVE, "<QQ", COMMUNICATOR, size)


def with_layouts(file: NsysFile) -> NsysFile:
    connection = sqlite3.connect(f"{REAL.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    for table in ("NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES"):
        for row in connection.execute(f"SELECT * FROM {table}"):
            file.add(table, *row)
    connection.close()
    return file


def read(file: NsysFile, folder: Path) -> Trace:
    return formats.read(formats.expand([file.write(folder / "trace.sqlite")])[0])


def test_the_real_exports_layouts_are_those_of_nccl() -> None:
    file = with_layouts(NsysFile("2026.2.1.210"))
    named = {(row[1], row[5]) for row in file.rows["NVTX_PAYLOAD_SCHEMA_ENTRIES"]}
    assert {(COLLECTIVE, "Message size [bytes]"), (SEND, "Peer rank"), (INIT, "No. of ranks")} <= named


@pytest.mark.parametrize("grouped", [False, True])
def test_message_sizes_of_nccls_ranges_are_read(grouped: bool, tmp_path: Path) -> None:
    """Also where the kernel is launched at the end of a group, as torch.distributed does."""
    file = with_layouts(NsysFile("2026.2.1.210"))
    Loop(steps=6, buckets=4).record(file, 1)
    kernels = [row for row in file.rows["CUPTI_ACTIVITY_KIND_KERNEL"] if row[7] == file.string(ALLREDUCE)]
    calls = {row[4]: row for row in file.rows["CUPTI_ACTIVITY_KIND_RUNTIME"]}
    for kernel in kernels:
        start, end, _, global_tid, *_ = calls[kernel[5]]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert isinstance(global_tid, int)
        thread = global_tid - PROCESS
        if grouped:
            file.range("ncclGroupStart", start - 40, start - 30, thread)
            file.range("ncclAllReduce", start - 20, start - 10, thread, message(25 * MIB))
            file.range("ncclGroupEnd", start - 5, end + 5, thread, payload(GROUP, "<Q", COMMUNICATOR))
        else:
            file.range("ncclAllReduce", start - 20, end + 5, thread, message(25 * MIB))
    found = profile([file.write(tmp_path / "trace.sqlite")]).facts
    assert (found.number(facts.MESSAGE_BYTES), found.number(facts.MESSAGE_MEDIAN_BYTES)) == (100 * MIB, 25 * MIB)


def group_of_sends(peers: int) -> NsysFile:
    file = with_layouts(NsysFile("2026.2.1.210"))
    file.range("ncclCommInitRank", 0, 10, payload=payload(INIT, "<Qiii", COMMUNICATOR, 4, 0, 0))
    file.range("ncclGroupStart", 100, 110)
    for peer in range(peers):
        file.range("ncclSend", 120 + 20 * peer, 130 + 20 * peer, payload=payload(SEND, "<QQi", COMMUNICATOR, MIB, peer))
        file.range("ncclRecv", 130 + 20 * peer, 138 + 20 * peer, payload=payload(SEND, "<QQi", COMMUNICATOR, MIB, peer))
    file.range("ncclGroupEnd", 900, 1_000)
    file.kernel(SENT, 2_000, 3_000, file.call("cudaLaunchKernelExC", 920, 930))
    file.range("step 1", 0, 4_000)
    return file


@pytest.mark.parametrize(("peers", "kind"), [(4, "all_to_all"), (1, "point_to_point")])
def test_sends_to_everybody_are_an_all_to_all_and_to_a_neighbour_none(peers: int, kind: str, tmp_path: Path) -> None:
    trace = read(group_of_sends(peers), tmp_path)
    ops = trace.ops
    rows = (ops.part == COMMUNICATION).nonzero()[0]
    said = messages_of(trace, ops, rows)
    assert kinds_of(trace, ops, rows, said) == (kind,)
    assert trace.messages.size[said].tolist() == [peers * MIB]
    assert trace.messages.members[said].tolist() == [4]
    assert trace.names[int(trace.messages.group[said][0])] == "communicator feedfacecafebeef"


@pytest.mark.parametrize(
    "damaged", [b"", b"short", message(MIB)[:40], message(1 << 60), payload(999, "<QQ", 1, MIB), "no digits", 7]
)
def test_a_payload_that_is_not_what_its_layout_says_tells_no_size(damaged: bytes, tmp_path: Path) -> None:
    file = with_layouts(NsysFile("2026.2.1.210"))
    file.range("ncclAllReduce", 0, 100, payload=damaged)
    file.range("step 1", 0, 4_000)
    assert read(file, tmp_path).messages.size.sum() == 0


def test_an_export_that_writes_bytes_as_digits_is_read_too(tmp_path: Path) -> None:
    file = with_layouts(NsysFile("2026.2.1.210"))
    file.range("ncclAllReduce", 0, 100, payload=message(MIB).hex())  # type: ignore[arg-type]
    file.range("step 1", 0, 4_000)
    assert read(file, tmp_path).messages.size.tolist() == [MIB]
