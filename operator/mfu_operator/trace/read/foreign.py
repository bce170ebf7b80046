"""What a file is that cannot be read as a trace, and whose device activity a trace holds that cannot be read."""

import re
from collections.abc import Iterator

LFS_POINTER = b"version https://git-lfs"
ANNEX_POINTER = b"/annex/objects/"

PICKLE = re.compile(rb"^\x80[\x02-\x05]")
"""The opcode PROTO of protocols 2 to 5: earlier ones have no beginning of their own."""

FILES = (
    (re.compile(re.escape(LFS_POINTER)), "a Git LFS pointer, not the file itself; fetch it with git lfs pull"),
    (
        re.compile(rb"^\S{0,300}" + re.escape(ANNEX_POINTER)),
        "a git-annex pointer, not the file; fetch it with git annex get",
    ),
    (
        PICKLE,
        "a pickle (a memory snapshot, a Flight Recorder dump), never unpickled; record with torch.profiler or nsys",
    ),
    (re.compile(rb"^PK\x03\x04"), "a zip archive; unpack it and give the traces in it"),
    (re.compile(rb"^\s*<(!doctype|html)", re.IGNORECASE), "a web page, not a trace; download the file itself"),
    (
        re.compile(rb"^\x0a.{0,64}/(host|device):", re.DOTALL),
        "an XLA profile (XSpace), of which only a torch.profiler or nsys trace of the same job can be read",
    ),
)
"""By a file's first bytes."""

DEVICES = (
    (re.compile(rb"(?i)Ascend Hardware|\baclnn|\bCANN\b|torch_npu"), "an Ascend NPU"),
    (re.compile(rb"(?i)\bhpu_op\b|habana|synapse_?ai|\bGaudi"), "a Gaudi accelerator (HPU)"),
    (re.compile(rb"/device:TPU|\bTPU v?\d|tpu_driver|XLA:TPU"), "a TPU"),
    (re.compile(rb"mtia_ccp_events|mtia_runtime"), "an MTIA accelerator"),
    (re.compile(rb"xpu_runtime|xpu_driver|\bzeCommandList|\burEnqueue"), "an Intel XPU"),
    (re.compile(rb"/device:GPU:\d+/|XLA Modules|XLA Ops"), "an XLA runtime, in XLA's own form"),
    (re.compile(rb"(?i)\bneuron(core|_rt)|\bnrt_execute"), "a Neuron accelerator"),
)
"""By names of processes, categories and calls that a trace of such a device holds."""

MOST_SEARCHED = 256 << 20
"""Decompressed bytes in which they are looked for."""

OVERLAP = 64
"""Bytes of one block that are looked at again with the next."""


def file_of(head: bytes) -> str | None:
    """What the file is, by its first bytes, with what to do; None where they do not tell."""
    return next((said for pattern, said in FILES if pattern.search(head)), None)


def device_of(blocks: Iterator[bytes]) -> str | None:
    """The kind of device that a trace's text names; None where it names none that is known."""
    searched, rest = 0, b""
    for block in blocks:
        text = rest + block
        for pattern, device in DEVICES:
            if pattern.search(text):
                return device
        searched, rest = searched + len(block), text[-OVERLAP:]
        if searched > MOST_SEARCHED:
            break
    return None
