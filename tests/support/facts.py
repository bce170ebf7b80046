"""Facts by their names in JSON, for tests: one that does not exist is an error, as it is to mypy in the code."""

from mfu_operator.model import facts
from mfu_operator.model.fact import Facts


def facts_of(**values: float | str) -> Facts:
    """The facts with these values. Raises KeyError for a name that no fact has."""
    return Facts.of({facts.BY_NAME[name]: value for name, value in values.items()})
