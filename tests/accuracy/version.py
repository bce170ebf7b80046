"""Which analysis a page of verdicts is of."""

import subprocess


def sentence() -> str:
    """Names the last commit that changed the analysis or its trials, of this checkout."""
    command = ["git", "log", "-1", "--format=%h", "--", "operator/mfu_operator/trace", "tests/accuracy/*.py"]
    return f"The analysis is that of commit {subprocess.check_output(command, text=True).strip()}."
