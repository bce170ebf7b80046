"""Which containers of a workload read a ConfigMap or Secret."""

from mfu_operator.gitops.rendered.readers import readers

POD = {
    "containers": [
        {"name": "train", "envFrom": [{"configMapRef": {"name": "env"}}], "volumeMounts": [{"name": "all"}]},
        {"name": "log", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "token", "key": "a"}}}],
         "volumeMounts": [{"name": "side"}, {"name": "all"}, {"name": "unknown"}]},
    ],
    "initContainers": [{"name": "fetch", "volumeMounts": [{"name": "keys"}]}],
    "volumes": [
        {"name": "side", "configMap": {"name": "side-config"}},
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "one"}}, {"secret": {"name": "two"}}]}},
        {"name": "nobody", "configMap": {"name": "unread"}},
    ],
}  # fmt: skip


def test_a_container_reads_what_it_mounts_and_what_its_variables_come_from() -> None:
    both = frozenset({"train", "log"})
    assert readers([POD]) == {
        ("ConfigMap", "env"): frozenset({"train"}),
        ("ConfigMap", "one"): both,
        ("Secret", "two"): both,
        ("Secret", "token"): frozenset({"log"}),
        ("ConfigMap", "side-config"): frozenset({"log"}),
        ("Secret", "keys"): frozenset({"fetch"}),
    }
