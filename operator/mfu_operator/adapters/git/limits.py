"""What the Git process and its gits may use, whatever a repository holds."""

import resource

DATA_BYTES = 384 * 1024 * 1024
"""Of each process' own memory. Not RLIMIT_AS: a git that maps a large pack needs addresses, and no memory."""

ENGINE_DATA_BYTES = 768 * 1024 * 1024
"""What a rendering engine that it starts may raise its own limit to (`render/program.py`)."""

FILE_BYTES = 1024 * 1024 * 1024
"""Of one file: a pack without blobs of a million commits is smaller."""

CPU_S = 100
"""Of each process; the deadline ends what waits."""

ANSWER_BYTES = 16 * 1024 * 1024
"""Of the answer, as JSON: a thousand commits of configuration are a tenth of it."""

_LIMITS = {
    resource.RLIMIT_DATA: (DATA_BYTES, ENGINE_DATA_BYTES),
    resource.RLIMIT_FSIZE: (FILE_BYTES, FILE_BYTES),
    resource.RLIMIT_CPU: (CPU_S, CPU_S),
}
"""(until then, and what may be raised to)."""


def apply() -> None:
    """Hold this process, and all that it starts from now on, to the limits; stricter ones stay in force."""
    for limit, wanted in _LIMITS.items():
        _, hard = resource.getrlimit(limit)
        soft, most = (each if hard == resource.RLIM_INFINITY else min(each, hard) for each in wanted)
        resource.setrlimit(limit, (soft, most))
