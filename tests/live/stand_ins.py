"""Empty libraries in place of the CUDA libraries that torch's wheel is linked with and a run on the CPU never calls.

torch for Linux on x86-64 comes from the package index with CUDA alone, 5 GB with all that it names. Its loader wants
every library; gloo, Kineto and the CPU's kernels call none of these. Each function of a stand-in ends the process with
its own name, so that nothing can be measured on one. For tests only.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

WANTED = re.compile(r"\(NEEDED\)\s+Shared library: \[(lib(?:cu|nv|nccl)[^\]]+)\]")
LOADED_LATER = frozenset({"libcaffe2_nvrtc.so"})
"""Opened only where there is a driver, which it needs."""

NEVER = """#include <stdio.h>
#include <stdlib.h>
static void never(const char *name) { fprintf(stderr, "%s is a stand-in and does nothing\\n", name); abort(); }
"""


def make(packages: Path) -> list[str]:
    """Put a stand-in beside the CUDA libraries in `packages` for each one that torch wants and is not there.

    Returns their names. Needs a C compiler, readelf and nm. Raises CalledProcessError.
    """
    torch = [path for path in sorted((packages / "torch/lib").glob("*.so*")) if path.name not in LOADED_LATER]
    present = {path.name for path in packages.glob("nvidia/*/lib/*")}
    wanted = {name for path in torch for name in WANTED.findall(_output("readelf", "-d", str(path)))}
    functions = {word for path in torch for word in _undefined(path)}
    missing = sorted(wanted - present)
    for name in missing:
        _compile(packages / "nvidia/cu13/lib", name, _versions(functions, name, missing))
    return missing


def _undefined(path: Path) -> Iterable[str]:
    return (line.split()[-1] for line in _output("nm", "-D", "--undefined-only", str(path)).splitlines())


def _versions(functions: Iterable[str], library: str, missing: Iterable[str]) -> Mapping[str, list[str]]:
    """The functions that `library` stands in for, by their version in the symbol table ("" for none)."""
    stem = library.removeprefix("lib").partition(".")[0].partition("_")[0]
    longer = tuple(each[3:].partition(".")[0] for each in missing if each[3:].startswith(stem) and each != library)
    found: dict[str, list[str]] = defaultdict(list)
    for word in sorted(functions):
        name, _, version = word.partition("@")
        own = version == library
        if own or (version not in missing and name.startswith(stem) and not (longer and name.startswith(longer))):
            found[version].append(name)
    return found


def _compile(folder: Path, library: str, versions: Mapping[str, list[str]]) -> None:
    source, script = folder / f"{library}.c", folder / f"{library}.map"
    names = [name for each in versions.values() for name in each]
    source.write_text(NEVER + "".join(f'void {name}(void) {{ never("{name}"); }}\n' for name in names))
    script.write_text(
        "".join(f"{version} {{ {'; '.join(each)}; }};\n" for version, each in versions.items() if version)
    )
    scripted = [f"-Wl,--version-script={script}"] if script.read_text() else []
    command = ["cc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library}", *scripted, str(source)]
    subprocess.run([*command, "-o", str(folder / library)], check=True)
    source.unlink()
    script.unlink()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
