"""Where a process listens for TCP connections, as the kernel says."""

import socket
import struct
from pathlib import Path

_LISTEN = "0A"


def addresses(pid: int) -> set[str]:
    """The local addresses of a process' listening sockets; empty for a process that is gone."""
    own = _sockets(pid)
    return {address for inode, address in _listening(pid) if inode in own}


def _sockets(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            found.add(target.removeprefix("socket:[").removesuffix("]"))
    return found


def _listening(pid: int) -> list[tuple[str, str]]:
    """(inode, address) of every listening socket in the network namespace of a process."""
    found = []
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                found.append((fields[9], _address(family, fields[1].partition(":")[0])))
    return found


def _address(family: socket.AddressFamily, hexadecimal: str) -> str:
    """An address as /proc/net/tcp has it: words of four bytes in the machine's own order."""
    words = [int(hexadecimal[index : index + 8], 16) for index in range(0, len(hexadecimal), 8)]
    return socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))
