"""Which rendered object the workload is, and what it gets of the others."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.rendered import workload
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.rendered.workload import Delivered, Wanted

KEY = b"key"


def thing(kind: str, name: str, namespace: str = "", origin: str = "", **body: Any) -> Thing:
    return Thing(kind, namespace, name, {"kind": kind, "apiVersion": "v1", **body}, origin=origin)


GPT = thing("Job", "gpt", "ml")
HASHED = thing("Job", "gpt-bcdfghkmt2", "ml")


@pytest.mark.parametrize(
    ("things", "wanted", "found"),
    [
        ([GPT, thing("Job", "bert", "ml")], Wanted("Job", "gpt", "ml"), [GPT]),
        ([GPT], Wanted("job", "gpt"), [GPT]),
        ([GPT], Wanted("Pod", "gpt"), []),
        ([GPT, replace(GPT, namespace="b")], Wanted("Job", "gpt", "b"), [replace(GPT, namespace="b")]),
        ([GPT, replace(GPT, namespace="")], Wanted("Job", "gpt", "b"), [replace(GPT, namespace="")]),
        ([GPT], Wanted("Job", "gpt", "b"), []),
        ([GPT, replace(GPT, namespace="b")], Wanted("Job", "gpt"), [GPT, replace(GPT, namespace="b")]),
        ([HASHED], Wanted("Job", "gpt", "ml"), [HASHED]),
        ([GPT], Wanted("Job", "gpt-bcdfghkmt2", "ml"), [GPT]),
        ([HASHED], Wanted("Job", "gpt-zzzzzzzzzz", "ml"), []),
        ([GPT, HASHED], Wanted("Job", "gpt", "ml"), [GPT]),
        ([HASHED, replace(HASHED, name="gpt-k5k5k5k5k5")], Wanted("Job", "gpt", "ml"), [
            HASHED, replace(HASHED, name="gpt-k5k5k5k5k5")]),
    ],
)  # fmt: skip
def test_the_workload_is_found_by_kind_name_and_namespace(
    things: list[Thing], wanted: Wanted, found: list[Thing]
) -> None:
    assert workload.meaning(things, wanted) == found
    assert workload.find(things, wanted) == (found[0] if len(found) == 1 else None)


@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        (["gpt-v2"], "gpt", "gpt-v2"),
        (["gpt"], "gpt-20260101", "gpt"),
        (["gpt-run-7"], "gpt-run-6", "gpt-run-7"),
        (["gpt.3"], "gpt-rev-2.1", "gpt.3"),
        (["gpt-a1"], "gpt", None),
        (["gpt-v2", "gpt-v3"], "gpt", None),
        (["bert-v2"], "gpt", None),
        (["-2"], "-1", None),
    ],
)
def test_a_job_that_was_given_a_new_name_is_found_by_its_stem(names: list[str], wanted: str, found: str | None) -> None:
    things = [thing("Job", name) for name in names]
    told = workload.find_renamed([*things, thing("Pod", "gpt-v9")], Wanted("job", wanted))
    assert (told and told.name) == found


def test_a_wanted_workload_is_told_by_kind_and_name() -> None:
    assert str(Wanted("Job", "gpt", "ml")) == "Job/gpt"


CONTAINERS = {"containers": [{"name": "t"}]}


@pytest.mark.parametrize(
    ("body", "specs"),
    [
        ({"spec": CONTAINERS}, [CONTAINERS]),
        (
            {"spec": {"groups": [{"template": {"spec": CONTAINERS}}, "odd", {"x": CONTAINERS}]}},
            [CONTAINERS, CONTAINERS],
        ),
        ({"containers": [{"name": "t"}], "inner": CONTAINERS}, [{"containers": [{"name": "t"}], "inner": CONTAINERS}]),
        ({"containers": ["the name"]}, []),
        ({"containers": ["odd", {"name": "t"}]}, [{"containers": ["odd", {"name": "t"}]}]),
        ({"containers": [{"image": "t"}]}, []),
        ({"containers": {"name": "t"}}, []),
        ({"containers": []}, []),
    ],
)
def test_pods_are_found_wherever_a_kind_keeps_them(body: dict[str, Any], specs: list[dict[str, Any]]) -> None:
    assert list(workload.pod_specs(body)) == specs
    assert workload.has_pods(thing("Custom", "x", **body)) is bool(specs)


@pytest.mark.parametrize(("kind", "has"), [("TrainJob", True), ("RayJob", True), ("RayCluster", True), ("Job", False)])
def test_some_kinds_make_pods_that_they_do_not_show(kind: str, has: bool) -> None:
    assert workload.has_pods(thing(kind, "x")) is has


def job(*references: Any, namespace: str = "ml", origin: str = "", **metadata: Any) -> Thing:
    """A job whose only container has these fields of its environment."""
    container = {"name": "t", "envFrom": list(references)}
    body = {"metadata": metadata, "spec": {"template": {"metadata": {"labels": {"app": "gpt"}},
                                                       "spec": {"containers": [container]}}}}  # fmt: skip
    return thing("Job", "gpt", namespace, origin, **body)


def gets(one: Thing, *others: Thing, name: str | None = None) -> Delivered:
    return workload.delivered(one, [one, *others], KEY, name)


def config(name: str = "c", namespace: str = "ml", origin: str = "", **data: str) -> Thing:
    return thing("ConfigMap", name, namespace, origin, data=data)


USES_C = {"configMapRef": {"name": "c"}}


def values(given: Delivered, of: str) -> dict[str, Any]:
    return {key: each.value for (name, key), each in given.leaves.items() if name == of}


def test_a_workload_gets_its_spec_and_not_its_metadata() -> None:
    given = gets(replace(job(), body={**job().body, "status": {"a": 1}, "metadata": {"labels": {"a": "b"}}}))
    keys = {key for _, key in given.leaves}
    assert keys == {"spec.template.spec.containers[t].name", "spec.template.metadata.labels.app"}
    assert (given.objects, given.missing, given.told) == (("Job/gpt",), (), {"Job/gpt": "Job/ml/gpt"})
    assert gets(job(namespace="")).told == {"Job/gpt": "Job/gpt"}


def test_what_its_status_and_metadata_speak_of_is_not_part_of_it() -> None:
    one = replace(job(), body={**job().body, "status": {"claimName": "p"}, "metadata": {"x": {"claimName": "p"}}})
    assert gets(one, thing("PersistentVolumeClaim", "p"), thing("LocalQueue", "None")).objects == ("Job/gpt",)


def test_a_workload_of_another_name_is_told_by_the_one_that_is_known() -> None:
    given = gets(job(), name="gpt-old")
    assert given.objects == ("Job/gpt-old",)
    assert {name for name, _ in given.leaves} == {"Job/gpt-old"}
    assert given.told == {"Job/gpt-old": "Job/ml/gpt"}


def test_a_config_that_it_uses_is_part_of_it() -> None:
    given = gets(job(USES_C), config(A="1"), config("other", B="2"))
    assert given.objects == ("Job/gpt", "ConfigMap/c")
    assert values(given, "ConfigMap/c") == {"data.A": "1"}
    assert given.told["ConfigMap/c"] == "ConfigMap/ml/c"


def test_a_secret_that_it_uses_is_part_of_it_in_hashes() -> None:
    given = gets(job({"secretRef": {"name": "s"}}), thing("Secret", "s", stringData={"A": "hunter2"}))
    assert "hmac-sha256:" in values(given, "Secret/s")["data.A"]
    assert given.told["Secret/s"] == "Secret/s"


@pytest.mark.parametrize(
    ("own", "others", "missing"),
    [("ml", "ml", ()), ("ml", "", ()), ("", "x", ()), ("ml", "x", ("ConfigMap/c",))],
)
def test_only_what_is_in_its_namespace_is_meant(own: str, others: str, missing: tuple[str, ...]) -> None:
    assert gets(job(USES_C, namespace=own), config(namespace=others, A="1")).missing == missing


def test_a_config_that_is_not_rendered_is_missing() -> None:
    given = gets(job(USES_C, {"secretRef": {"name": "s"}}), config(A="1"))
    assert given.missing == ("Secret/s",)
    assert given.objects == ("Job/gpt", "ConfigMap/c")


def test_an_entry_that_the_container_overrides_is_not_seen_unless_it_is_read_otherwise() -> None:
    body: dict[str, Any] = dict(job(USES_C).body)
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "9"}]
    given = gets(replace(job(), body=body), config(A="1", B="2"))
    assert values(given, "ConfigMap/c") == {"data.B": "2"}
    pod = body["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "configMap": {"name": "c", "items": [{"key": "A", "path": "a"}]}}]
    given = gets(replace(job(), body=body), config(A="1", B="2"))
    assert values(given, "ConfigMap/c") == {"data.A": "1", "data.B": "2"}


def names(given: Delivered, of: str) -> set[str]:
    return {each.name for (name, _), each in given.leaves.items() if name == of}


def test_variables_have_the_prefix_that_the_container_gives_them() -> None:
    prefixed = {**USES_C, "prefix": "P_"}
    assert names(gets(job(prefixed), config(A="1")), "ConfigMap/c") == {"P_A"}
    body: dict[str, Any] = dict(job(prefixed).body)
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "c"}}]
    assert names(gets(replace(job(), body=body), config(A="1")), "ConfigMap/c") == {"A"}


def test_marks_by_which_something_acts_on_its_pods_are_part_of_it() -> None:
    marks = {"kueue.x-k8s.io/queue-name": "q", "app": "gpt"}
    marked = job(labels=marks, annotations={"k8s.v1.cni.cncf.io/networks": "rdma"})
    queue, big = thing("LocalQueue", "q", spec={"clusterQueue": "big"}), thing("ClusterQueue", "big", spec={"quota": 8})
    given = gets(marked, queue, big, thing("ClusterQueue", "other"))
    found = {
        leaf.key: (leaf.name, leaf.value, leaf.raw) for leaf in given.leaves.values() if leaf.key.startswith("meta")
    }
    assert found == {
        'metadata.labels["kueue.x-k8s.io/queue-name"]': ("metadata.labels.kueue.x-k8s.io/queue-name", "q", "q"),
        'metadata.annotations["k8s.v1.cni.cncf.io/networks"]': (
            "metadata.annotations.k8s.v1.cni.cncf.io/networks", "rdma", "rdma"),
    }  # fmt: skip
    assert given.objects == ("Job/gpt", "LocalQueue/q", "ClusterQueue/big")
    assert values(given, "ClusterQueue/big") == {"spec.quota": "8"}


def test_no_marks_are_none() -> None:
    assert gets(replace(job(), body={"metadata": None, "spec": {}})).objects == ("Job/gpt",)
    assert gets(replace(job(), body={"metadata": {"labels": None}, "spec": {}})).objects == ("Job/gpt",)


POLICY: dict[str, Any] = {"spec": {"podSelector": {"matchLabels": {"app": "gpt"}}}}
OF_BERT: dict[str, Any] = {"spec": {"podSelector": {"matchLabels": {"app": "bert"}}}}
PARTLY: dict[str, Any] = {"spec": {"podSelector": {"matchLabels": {"app": "gpt", "tier": "x"}}}}


@pytest.mark.parametrize(
    ("other", "acts"),
    [
        (thing("LimitRange", "x", spec={"a": 1}), True),
        (thing("ResourceQuota", "x", spec={"a": 1}), True),
        (thing("NetworkPolicy", "x", **POLICY), True),
        (thing("NetworkPolicy", "x", **OF_BERT), False),
        (thing("NetworkPolicy", "x", **PARTLY), False),
        (thing("NetworkPolicy", "x", spec={}), True),
        (thing("NetworkPolicy", "x", spec=None), True),
        (thing("Service", "x", **POLICY), False),
        (thing("LimitRange", "x", "other", spec={"a": 1}), False),
        (thing("LimitRange", "x", origin="App/a", spec={"a": 1}), True),
        (thing("LimitRange", "x", origin="App/b", spec={"a": 1}), False),
    ],
)
def test_what_acts_on_its_pods_is_part_of_it(other: Thing, acts: bool) -> None:
    given = gets(job(origin="App/a"), other)
    assert (f"{other.kind}/x" in given.objects) is acts


def test_a_policy_for_one_of_several_kinds_of_pods_acts() -> None:
    pods = [{"metadata": {"labels": {"app": app}}, "spec": CONTAINERS} for app in ("gpt", "loader")]
    objects = gets(thing("Job", "gpt", spec={"groups": pods}), thing("NetworkPolicy", "x", **POLICY)).objects
    assert "NetworkPolicy/x" in objects


def test_without_labels_only_a_policy_for_all_pods_acts() -> None:
    bare = thing("Job", "gpt", spec={"template": {"spec": CONTAINERS}})
    objects = gets(bare, thing("NetworkPolicy", "all", spec={}), thing("NetworkPolicy", "x", **POLICY)).objects
    assert objects == ("Job/gpt", "NetworkPolicy/all")


def test_what_is_referred_to_is_followed_and_taken_once() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "p"}}
    pod = {**CONTAINERS, "volumes": [volume]}
    claim: dict[str, Any] = {"spec": {"template": {"spec": pod}, "more": {"claimName": "p", "name": "gpt"}}}
    given = gets(
        thing("Job", "gpt", **claim),
        thing("PersistentVolumeClaim", "p", spec={"storageClassName": "fast", "volumeName": "v"}),
        thing(
            "StorageClass",
            "fast",
            parameters={"type": "ssd", "secretRef": {"name": "s"}},
            metadata={"claimName": "q"},
            status={"claimName": "q"},
        ),
        thing(
            "PersistentVolume", "v", spec={"storageClassName": "fast", "configMapRef": {"name": "c"}, "claimName": "p"}
        ),
        thing("PersistentVolumeClaim", "q"),
        thing("StorageClass", "slow"),
        config(),
    )
    assert given.objects == (
        "Job/gpt", "PersistentVolumeClaim/p", "StorageClass/fast", "PersistentVolume/v", "ConfigMap/c",
    )  # fmt: skip
    assert given.missing == ("Secret/s",)
    assert values(given, "StorageClass/fast")["parameters.type"] == "ssd"
    assert not any("metadata" in key for key in values(given, "StorageClass/fast"))


def test_generated_configs_are_told_without_their_hash() -> None:
    uses = {"configMapRef": {"name": "c-bcdfghkmt2"}}
    given = gets(job(uses), config("c-bcdfghkmt2", A="1"))
    assert given.objects == ("Job/gpt", "ConfigMap/c")
    queue = thing("LocalQueue", "q-bcdfghkmt2")
    marked = job(labels={"kueue.x-k8s.io/queue-name": "q-bcdfghkmt2"})
    assert gets(marked, queue).objects == ("Job/gpt", "LocalQueue/q-bcdfghkmt2")


def devices(name: str, key: str = "nvidia.com/gpu") -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {key: 8, "cpu": 1}}}


@pytest.mark.parametrize(
    ("pods", "trains"),
    [
        ([[{"name": "a"}]], {"a": True}),
        ([[{"name": "a"}, {"name": "b"}]], {"a": True, "b": False}),
        ([[{"name": "a"}, devices("b")]], {"a": False, "b": True}),
        ([[{"name": "a"}, devices("b", "rdma/hca")]], {"a": False, "b": True}),
        ([[{"name": "a"}, devices("b", "memory")]], {"a": True, "b": False}),
        ([[{"name": "a"}, {"name": "b", "resources": "odd"}]], {"a": True, "b": False}),
        ([[{"name": "a"}, {"name": "b", "resources": {"limits": "gpu"}}]], {"a": True, "b": False}),
        ([["odd", {"name": "a"}, {"name": "b"}]], {"a": True, "b": False}),
        ([[devices("a")], [devices("b"), {"name": "a"}]], {"a": True, "b": True}),
        ([[{"name": "a"}, devices("b")], [{"name": "a"}]], {"a": True, "b": True}),
    ],
)
def test_the_container_that_trains_asks_for_devices_or_is_the_first(pods: list[Any], trains: dict[str, bool]) -> None:
    body: dict[str, Any] = {"spec": {"groups": [{"containers": containers} for containers in pods]}}
    assert gets(thing("Job", "gpt", **body)).containers == trains


def test_initial_containers_do_not_train() -> None:
    pod = {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, "odd", {"name": "a"}]}
    assert gets(thing("Job", "gpt", spec=pod)).containers == {"a": True, "i": False}
    assert gets(thing("Job", "gpt", spec={**pod, "initContainers": None})).containers == {"a": True}
