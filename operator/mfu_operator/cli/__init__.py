"""`kubectl mfu`: what a person asks of the operator, of a trace, or of history."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Before numpy is imported: no linear algebra is done here, and its threads cost a tenth of a second of CPU time."""
