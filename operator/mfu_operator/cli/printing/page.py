"""A page that needs nothing beside it and runs no script, light or dark as the reader's system is."""

from html import escape

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Beside the styles of the page itself a browser loads nothing, whatever stands in the text."""

_STYLE = """:root{color-scheme:light dark;--line:#8886;--soft:#8882}
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{padding:.2rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td{overflow-wrap:normal}td:last-child{overflow-wrap:anywhere}table{margin-bottom:1rem}
pre,code{font-family:ui-monospace,monospace;background:var(--soft)}
pre{padding:.7rem;overflow-x:auto}pre code{background:none}
svg{max-width:100%;height:auto;background:#fff}"""


def as_page(title: str, markdown: str) -> str:
    """Markdown as a page. HTML in the text is shown, not obeyed."""
    return page(title, as_html(markdown))


def as_html(markdown: str) -> str:
    """Markdown as the inside of a page. HTML in the text is shown, not obeyed."""
    from markdown_it import MarkdownIt  # takes a moment that other formats do not need

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def page(title: str, body: str, style: str = "") -> str:
    """A document.

    Args:
        title: plain text.
        body: HTML in which the text of others is escaped.
        style: more rules.
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}</body></html>'
