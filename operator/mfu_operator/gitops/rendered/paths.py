"""Fields as dotted paths: `spec.containers[trainer].args[3]`, `data["train.yaml"].loader.num_workers`."""

_NAMES = ("name", "key", "mountPath", "containerPort", "topologyKey", "ip")
_SPECIAL = set(".[]\"' /:=\t")


def child(path: str, key: str) -> str:
    """The path of a mapping's key; a key with dots or other punctuation is quoted."""
    if not key or _SPECIAL & set(key):
        escaped = key.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{key}" if path else key


def item(path: str, name: str) -> str:
    """The path of a list's item by its name, or by its number where it has none."""
    return f"{path}[{name}]"


def item_names(items: list[object]) -> list[str]:
    """What tells the items of a list apart: the first of name, key, mountPath, … that all have and none shares."""
    for field in _NAMES:
        names = [str(each[field]) for each in items if isinstance(each, dict) and each.get(field) is not None]
        if len(names) == len(items) == len(set(names)):
            return names
    return [str(index) for index in range(len(items))]


def last_key(path: str) -> str:
    """The last key of a path, without the numbers and names of list items."""
    bare = path
    while bare.endswith("]") and not bare.endswith('"]'):
        bare = bare[: bare.rfind("[")]
    if bare.endswith('"]'):
        return bare[bare.rfind('["') + 2 : -2]
    return bare.rpartition(".")[2]
