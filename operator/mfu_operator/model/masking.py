"""Text of strangers (a log's last words, a diff) without what looks like a secret in it.

A status and an Event are read by more people than a Secret is. What is hidden is told by its key, by its shape or by
the document it stands in; numbers, references and everything else stay, because they are what a person looks for.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from itertools import pairwise
from urllib.parse import quote

MASK = "***"

_ALWAYS = frozenset((
    "password", "passwd", "pwd", "passphrase", "pass", "secret", "secrets", "dsn", "authorization", "credential",
    "credentials", "apikey", "accesskey", "secretkey", "privatekey", "cookie", "sig",
))  # fmt: skip
"""Last words of keys that hold nothing but secrets."""

_PLAIN_TOKENS = frozenset((
    "eos", "bos", "pad", "unk", "mask", "sep", "cls", "special", "stop", "start", "end", "begin", "image",
    "audio", "video", "first", "last", "next", "new", "prev", "per", "num", "n", "max", "min", "total", "every",
    "each", "decoder", "encoder", "prompt",
))  # fmt: skip
"""In front of `token`: of the text's own tokens. The plural, `tokens`, never holds a secret."""

_SECRET_KEYS = frozenset((
    "api", "access", "secret", "private", "encryption", "decryption", "signing", "ssh", "rsa", "account",
    "license", "licence", "master", "auth", "service", "storage", "shared", "client", "deploy", "wandb", "hf",
    "openai", "anthropic", "azure", "gcp", "aws", "comet", "neptune", "datadog", "dd", "admin", "root", "app",
    "gpg", "pgp",
))  # fmt: skip
"""In front of `key`. Other keys (of caches, columns, batches, tolerations) are ordinary."""

_PLAIN_AWS = frozenset((
    "region", "profile", "endpoint", "url", "name", "path", "file", "bundle", "attempts", "mode", "timeout",
    "interval", "concurrency", "output", "version", "enabled", "disabled", "arn",
))  # fmt: skip
_TAILS = frozenset((
    "value", "val", "text", "b64", "base64", "data",
))  # fmt: skip

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LINE = re.compile(r"^(?P<head>[+\- ]?[ \t]*(?:-[ \t]+)?(?P<q>[\"']?)(?P<key>[A-Za-z_][\w.\-]*)(?P=q)[ \t]*:[ \t]+)"
                   r"(?P<value>\S.*)$")  # fmt: skip
_PAIR = re.compile(
    r"(?P<head>(?P<q>[\"']?)(?<![\w.])(?P<key>[A-Za-z_][\w.\-]{0,79})(?P=q)[ \t]*(?:=>|:=|[:=])[ \t]*)"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\$\{[^}\n]*\}|\$\([^)\n]*\)"
    r"|(?:(?:bearer|basic|token)[ \t]+)?[^\s,;&\"'{}\[\]()]+)",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"(?P<head>(?<![\w-])--?(?P<key>[A-Za-z][\w\-]*)(?:[\"'][ \t]*,)?[ \t]+)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',\]]+)"
)
_NAMED = re.compile(r"[\"']?\bname[\"']?[ \t]*:[ \t]*[\"']?(?P<key>[A-Za-z_][\w.\-]*)")
_NAMED_VALUE = re.compile(r"(?P<head>\bvalue[\"']?[ \t]*:[ \t]+)(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\n,}]+)")
_FLAG_ITEM = re.compile(r"^[+\- ]?[ \t]*-[ \t]+[\"']?--?(?P<key>[A-Za-z][\w\-]*)[\"']?[ \t]*,?$")
_ITEM = re.compile(r"^(?P<head>[+\- ]?[ \t]*-[ \t]+)(?P<value>\S.*)$")
_BLOCK = re.compile(r"^[|>][+\-0-9]*$")

_USER = re.compile(r"(://[^\s/:@\"']*):([^\s/\"']+)@")
_USER_ALONE = re.compile(r"://[^\s/:@\"']{16,}@")
_BEARER = re.compile(r"(\bbearer[ \t]+)(?=[A-Za-z_.~+/=-]*[0-9])[\w.~+/=-]{8,}", re.IGNORECASE)
_ARMOUR = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_KNOWN = re.compile(
    r"\b(?:gh[opusr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|A[KS]IA[A-Z0-9]{16}\b|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
)
_LONG = re.compile(r"(?<![A-Za-z0-9_+=-])[A-Za-z0-9_+=-]{28,}(?![A-Za-z0-9_+=-])")
_PADDED = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{22,}={1,2}(?![\w=])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{4,}(?![A-Za-z0-9+/])")
_FEWEST_TURNS = 0.4
"""Of neighbours in a random text, 62 in 100 are of two classes (capital, small, digit); of CamelCase, a third."""

_PUBLIC = re.compile(
    rf"[\"']?(?:|[0-9.]{{1,7}}|true|false|null|none|~|{re.escape(MASK)}|\$[({{]{{0,2}}[\w.]+[)}}]{{0,2}}|\{{\{{.*\}}\}}"
    r"|[|>][+\-0-9]*|[\[{&*!].*)[\"']?,?",
    re.IGNORECASE,
)
"""Values that are none: numbers, references, the beginnings of more. A number may be a password: see `_hidden`."""

_SECRET_DOCUMENT = re.compile(r"^[+\- ]?[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t]*$", re.MULTILINE)
_OF_A_DOCUMENT = frozenset((
    "apiVersion", "kind", "name", "namespace", "type", "labels", "annotations", "immutable", "metadata",
))  # fmt: skip


def masked(text: str) -> str:
    """The text with `***` where a secret seems to stand. Lines stay lines; masking twice is masking once."""
    text = _ARMOUR.sub(lambda it: it[1] + f"\n{MASK}" * it[0].count("\n") + it[2], text)
    text = _USER.sub(rf"\1:{MASK}@", text)
    text = _USER_ALONE.sub(f"://{MASK}@", text)
    sections = re.split(r"^(?=diff --git |[+\- ]?---[ \t]*$)", text, flags=re.MULTILINE)
    text = "".join(_section(each) for each in sections)
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _KNOWN.sub(MASK, text)
    return _PADDED.sub(_random, _LONG.sub(_random, text))


def without(text: str, *secrets: str | None) -> str:
    """The text of somebody who was sent these secrets, with `***` in place of each: as it is, as a URL has it, and in
    base64, alone or after a user's name. To be done before the text is cut."""
    for secret in sorted({each.strip() for each in secrets if each and each.strip()}, key=len, reverse=True):
        text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return _BASE64.sub(lambda found: MASK if _holds(found[0], secrets) else found[0], text)


def _holds(encoded: str, secrets: Iterable[str | None]) -> bool:
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        return False
    return any(each and each.strip().encode() in decoded for each in secrets)


def is_secret_key(key: str) -> bool:
    """Whether a key's name says that its value is a secret: `DB_PASSWORD`, `apiKey`; not `tokens_per_step`."""
    words = [word.lower() for word in _WORD.findall(key)]
    while len(words) > 1 and (words[-1] in _TAILS or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    *before, last = words
    if last in _ALWAYS:
        return True
    if last == "token":
        return not before or before[-1] not in _PLAIN_TOKENS
    if last == "key" and before:
        return before[-1] in _SECRET_KEYS or key.isupper()
    if words[0] == "aws" or words[:2] == ["x", "amz"]:
        return last not in _PLAIN_AWS and len(words) > 1
    return False


def _section(text: str) -> str:
    """One file of a diff or one document: what kind it is of is known within it."""
    return "".join(_lines(text, _SECRET_DOCUMENT.search(text) is not None))


def _lines(text: str, secret_document: bool) -> Iterator[str]:
    named = flagged = False
    block: int | None = None
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        end = line[len(body) :]
        if block is not None and (not body.strip("+- ") or _indent(body) > block):
            yield (body[: _indent(body)] + MASK if body.strip("+- ") else body) + end
            continue
        block = None
        found = _LINE.match(body)
        hides = found is not None and (
            is_secret_key(found["key"])
            or (named and found["key"] == "value")
            or (secret_document and found["key"] not in _OF_A_DOCUMENT)
        )
        if found is not None and hides and _BLOCK.match(found["value"]):
            block = _indent(body)
        elif found is not None and hides:
            body = found["head"] + _hidden(found["key"], found["value"])
        elif flagged and (item := _ITEM.match(body)):
            body = item["head"] + _hidden("", item["value"])
        flagged = bool((flag := _FLAG_ITEM.match(body)) and is_secret_key(flag["key"]))
        if name := _NAMED.search(body):
            named = is_secret_key(name["key"])
            if named:
                body = _NAMED_VALUE.sub(lambda it: it["head"] + _hidden("", it["value"]), body)
        yield _pairs(_FLAG, _pairs(_PAIR, body)) + end


def _indent(line: str) -> int:
    """Columns before the text, a diff's own mark among them."""
    marked = line[:1] in "+-"
    rest = line[1:] if marked else line
    return len(rest) - len(rest.lstrip(" \t")) + marked


def _pairs(pattern: re.Pattern[str], text: str) -> str:
    """Hide the values of secret keys. What follows an ordinary key is looked at again: it may hold pairs itself."""
    parts, place = [], 0
    while found := pattern.search(text, place):
        secret = is_secret_key(found["key"])
        parts += [text[place : found.start()], found["head"]]
        parts += [_hidden(found["key"], found["value"])] if secret else []
        place = found.end() if secret else found.end("head")
    return "".join([*parts, text[place:]])


def _hidden(key: str, value: str) -> str:
    """The mask, in the value's quotes; the value itself where it cannot be a secret."""
    number = re.fullmatch(r"[\"']?[0-9.]+[\"']?,?", value) is not None
    counted = number and key.lower().endswith(("token", "sig", "pass"))
    if (_PUBLIC.fullmatch(value) and not number) or counted:
        return value
    quote = value[0] if value[0] in "\"'" else ""
    comma = "," if value.endswith(",") else ""
    return f"{quote}{MASK}{quote}{comma}"


def _random(found: re.Match[str]) -> str:
    text = found[0]
    classes = "".join(
        "A" if each.isupper() else "a" if each.islower() else "0" if each.isdigit() else "-" for each in text
    )
    alike = {"A", "a", "0"} <= set(classes)
    turns = sum(one != other and "-" not in (one, other) for one, other in pairwise(classes))
    return MASK if alike and turns >= _FEWEST_TURNS * len(text) else text
