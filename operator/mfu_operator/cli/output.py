"""What several commands print in the same way: objects for programs, and Markdown as a page of its own."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import yaml

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;color-scheme:light dark}
body{max-width:50rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{padding:.2rem .7rem;border-bottom:1px solid #8888}
pre,code{font-family:ui-monospace,monospace;background:#8882}
pre{padding:.7rem;overflow-x:auto}pre code{background:none}"""


def as_json(value: Mapping[str, Any]) -> str:
    """Indented, in Unicode."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def as_yaml(value: Mapping[str, Any]) -> str:
    """In blocks, in the order in which it was given."""
    return yaml_of(as_json(value))


def yaml_of(text: str) -> str:
    """What is JSON already, as YAML."""
    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True).rstrip("\n")


def listed(items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Several objects as kubectl prints them."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def as_page(title: str, markdown: str) -> str:
    """Markdown as a page that needs nothing beside it and runs no script. HTML in the text is shown, not obeyed."""
    from markdown_it import MarkdownIt  # takes a moment that other formats do not need

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    head = (
        f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}</body></html>'
