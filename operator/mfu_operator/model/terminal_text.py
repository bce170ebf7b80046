"""Texts of others, as a terminal may have them."""

from unicodedata import category


def for_terminal(text: str) -> str:
    """The text without what moves a terminal's cursor, sets its title or turns its direction. Lines and tabs stay."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if char not in "\n\t" and category(char) in ("Cc", "Cf", "Cs") else char
        for char in text
    )
