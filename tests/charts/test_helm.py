"""Helm's own opinion of the chart, and what it renders. Needs helm and promtool, and no cluster."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mfu_operator.api.group import BASELINE_LABEL, MANAGED_BY_LABEL, MANAGER
from tests.cluster.toolchain import go_binaries
from tests.support.built import built
from tests.unit.api.test_guarded import FIELDS

CHART = Path(__file__).parents[2] / "charts" / "mfu-operator"
EVERYTHING = {
    "image": {"repository": "localhost/mfu-operator", "digest": "sha256:" + "1" * 64},
    "prometheus": {"address": "https://prometheus:9090", "tenant": "ml", "secretName": "prometheus-reader"},
    "metrics": {"profile": "torchtitan", "names": {"mfu": "our_mfu", "phase": ""}, "labels": {"pod": "exported_pod"}},
    "interval": {"sweep": "2", "reconcile": 2},
    "replicas": 2,
    "secrets": {"training": ["github", "mimir"]},
    "caBundle": {"configMap": "trust"},
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
    "runbookBaseUrl": "https://git.example/runbooks/",
    "egress": {"hosts": ["git.example.org", "*.corp.example"], "refused": ["10.0.0.0/24"]},
    "profiling": {"permit": {"training": ["hostPath", "capabilities"]}, "priorityClasses": ["low"]},
    "remediation": {"modes": {"training": "DryRun", "*": "Observe", "old": False}},
    "networkPolicy": {"egress": [{"ports": [{"port": 443}]}]},
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
}
Objects = Sequence[Mapping[str, Any]]


HELM, PROMTOOL = built("helm", "helm"), built("prometheus", "promtool")
pytestmark = [] if HELM and PROMTOOL else [pytest.mark.cluster]
"""Where they are not built yet, the tests wait for the cluster's programs, which are compiled with it."""


def run(values: Mapping[str, Any], home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(home / "none")}
    command = [str(HELM or go_binaries("helm") / "helm"), *arguments, "--values=-"]
    return subprocess.run(
        command, input=json.dumps(values), env=environment, capture_output=True, text=True, check=False
    )


def rendered(values: Mapping[str, Any], home: Path) -> Objects:
    done = run(values, home, "template", "mfu-operator", str(CHART), "--namespace=mfu-system", "--include-crds")
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def only(objects: Objects, kind: str) -> Mapping[str, Any]:
    [found] = [each for each in objects if each["kind"] == kind]
    return found


def policy(objects: Objects, name: str) -> Mapping[str, Any]:
    policies = [each for each in objects if each["kind"] == "ValidatingAdmissionPolicy"]
    [found] = [each for each in policies if each["metadata"]["name"] == name]
    return found


def rules(objects: Objects) -> list[Mapping[str, Any]]:
    """What the operator may do: the rules of roles that are bound."""
    bound = {each["roleRef"]["name"] for each in objects if "roleRef" in each}
    roles = [each for each in objects if each["kind"] in ("Role", "ClusterRole")]
    return [rule for each in roles if each["metadata"]["name"] in bound for rule in each["rules"]]


@pytest.mark.parametrize(
    "values", [{}, EVERYTHING, {"watchNamespaces": ["a", "b"]}], ids=["least", "all", "namespaced"]
)
def test_helm_finds_nothing_wrong(values: Mapping[str, Any], tmp_path: Path) -> None:
    done = run(values, tmp_path, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replica": 2}, "replica"),
        ({"image": {"repository": "a", "digest": "sha256:1"}}, "digest"),
        ({"prometheus": {"address": "http://user:pw@prometheus"}}, "address"),
        ({"interval": {"sweep": 0}}, "sweep"),
        ({"replicas": 0}, "replicas"),
        ({"remediation": {"modes": {"training": "PullRequest"}}}, "training"),
        ({"metrics": {"names": {"mfu": "rate(x[1m])"}}}, "mfu"),
    ],
)
def test_a_wrong_value_is_refused(values: Mapping[str, Any], named: str, tmp_path: Path) -> None:
    done = run(values, tmp_path, "template", "x", str(CHART))
    assert done.returncode != 0
    assert named in done.stderr


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["least", "all"])
def test_the_pod_is_restricted(values: Mapping[str, Any], tmp_path: Path) -> None:
    pod = only(rendered(values, tmp_path), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"] and container["resources"]["limits"]["memory"]
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    assert container["command"] == ["python", "-m", "mfu_operator", "run"]


def test_the_fleets_source_is_set_and_its_secret_mounted_and_not_spelled_out(tmp_path: Path) -> None:
    pod = only(rendered(EVERYTHING, tmp_path), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    settings = {each["name"]: each.get("value") for each in container["env"]}
    assert settings["MFU_PROMETHEUS_TENANT"] == "ml"
    assert settings["MFU_METRICS_PROFILE"] == "torchtitan"
    assert settings["MFU_METRIC_NAMES"] == "mfu=our_mfu,phase="
    assert settings["MFU_METRIC_LABELS"] == "pod=exported_pod"
    [mount] = [each for each in container["volumeMounts"] if each["name"] == "prometheus"]
    assert (mount["mountPath"], mount["readOnly"]) == (settings["MFU_PROMETHEUS_CREDENTIALS"], True)
    [volume] = [each for each in pod["volumes"] if each["name"] == "prometheus"]
    assert volume["secret"]["secretName"] == "prometheus-reader"


def test_without_a_secret_none_is_mounted(tmp_path: Path) -> None:
    pod = only(rendered({}, tmp_path), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert {"name": "MFU_PROMETHEUS_CREDENTIALS", "value": ""} in container["env"]
    assert "prometheus" not in {each["name"] for each in pod["volumes"]}


def test_a_digest_wins_over_a_tag(tmp_path: Path) -> None:
    [container] = only(rendered(EVERYTHING, tmp_path), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "localhost/mfu-operator@sha256:" + "1" * 64


def test_no_rule_reaches_further_than_it_must(tmp_path: Path) -> None:
    objects = rendered(EVERYTHING, tmp_path)
    for rule in rules(objects):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
    assert not [each for each in objects if each.get("roleRef", {}).get("name") == "cluster-admin"]


def test_only_what_kopf_watches_pods_and_other_installations_leases_are_listed(tmp_path: Path) -> None:
    watched = {
        resource
        for rule in rules(rendered(EVERYTHING, tmp_path))
        for resource in rule["resources"]
        if {"list", "watch"} & set(rule["verbs"])
    }
    assert watched == {"trainingbaselines", "customresourcedefinitions", "namespaces", "pods", "leases"}


def test_secrets_are_read_by_name_where_it_says_so(tmp_path: Path) -> None:
    def readers(values: Mapping[str, Any]) -> dict[str, list[str]]:
        objects = rendered(values, tmp_path)
        readers = [
            each
            for each in objects
            if each["kind"] == "Role"
            for rule in each["rules"]
            if "secrets" in rule["resources"]
        ]
        assert all(each["rules"][0]["verbs"] == ["get"] for each in readers)
        assert sum("secrets" in rule["resources"] for rule in rules(objects)) == len(readers)
        return {each["metadata"]["namespace"]: each["rules"][0]["resourceNames"] for each in readers}

    assert readers({}) == {}
    assert readers(EVERYTHING) == {"training": ["github", "mimir"]}
    assert readers({"watchNamespaces": ["a", "b"]}) == {}
    assert readers({"watchNamespaces": ["a", "b"], "secrets": {"b": ["gitlab"]}}) == {"b": ["gitlab"]}


def test_watched_namespaces_are_the_only_ones_it_is_bound_in(tmp_path: Path) -> None:
    objects = rendered({"watchNamespaces": ["a", "b"], "gitops": {"namespaces": ["argocd"]}}, tmp_path)
    wide = [each["metadata"]["name"] for each in objects if each["kind"] == "ClusterRoleBinding"]
    assert wide == ["mfu-system-mfu-operator-discovery"]
    bound = {each["metadata"]["namespace"] for each in objects if each["kind"] == "RoleBinding"}
    assert bound == {"a", "b", "argocd", "mfu-system"}


def test_each_watched_namespace_has_a_binding_of_its_own_that_is_as_old_as_its_being_watched(tmp_path: Path) -> None:
    def bindings(values: Mapping[str, Any]) -> dict[str, Any]:
        objects = rendered(values, tmp_path)
        found = {
            each["metadata"]["name"]: each["spec"].get("matchResources")
            for each in objects
            if each["kind"] == "ValidatingAdmissionPolicyBinding"
            and each["spec"]["policyName"] == "mfu-system-mfu-operator-authority"
        }
        [readable] = [
            rule["resourceNames"] for rule in rules(objects) if "validatingadmissionpolicybindings" in rule["resources"]
        ]
        assert readable == list(found)
        assert (
            "namespaceSelector" not in policy(objects, "mfu-system-mfu-operator-authority")["spec"]["matchConstraints"]
        )
        return found

    names = ("mfu-system-mfu-operator-authority", "mfu-system-mfu-operator-authority.2")
    assert bindings({}) == dict.fromkeys(names)
    assert bindings({"watchNamespaces": ["a", "b"]}) == {
        f"{name}-{each}": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": each}}}
        for each in ("a", "b")
        for name in names
    }


def test_each_binding_vouches_for_the_fields_that_were_guarded_when_it_was_made(tmp_path: Path) -> None:
    objects = rendered({}, tmp_path)
    vouched = {
        each["metadata"]["name"]: set(each["metadata"]["annotations"]["mfu-operator.io/guards"].split(","))
        for each in objects
        if each["kind"] == "ValidatingAdmissionPolicyBinding" and "authority" in each["metadata"]["name"]
    }
    first, second = vouched.values()
    assert first < second == {path for path, _ in FIELDS}, "all that the operator takes for guarded"
    [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {"name": "MFU_ADMISSION_POLICY", "value": ",".join(vouched)} in container["env"]


def test_nothing_is_written_but_jobs_events_the_lease_and_what_is_its_own(tmp_path: Path) -> None:
    writes = {"create", "update", "patch", "delete"}
    written = {
        (resource, verb)
        for rule in rules(rendered(EVERYTHING, tmp_path))
        for resource in rule["resources"]
        for verb in writes & set(rule["verbs"])
    }
    assert written == {
        ("trainingbaselines", "patch"),
        ("trainingbaselines/status", "patch"),
        ("jobs", "create"),
        ("events", "create"),
        ("leases", "create"),
        ("leases", "update"),
    }


@pytest.mark.parametrize(
    ("values", "created", "used"),
    [
        ({}, ["mfu-system-mfu-operator-profiling"], "mfu-system-mfu-operator-profiling"),
        ({"create": True, "name": "low"}, ["low"], "low"),
        ({"create": False, "name": "theirs"}, [], "theirs"),
        ({"create": False}, [], ""),
    ],
)
def test_profiling_pods_give_way(values: Mapping[str, Any], created: list[str], used: str, tmp_path: Path) -> None:
    objects = rendered({"priorityClass": values}, tmp_path)
    classes = [each for each in objects if each["kind"] == "PriorityClass"]
    assert [each["metadata"]["name"] for each in classes] == created
    assert all(each["value"] == -10 and each["preemptionPolicy"] == "Never" for each in classes)
    [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {"name": "MFU_PRIORITY_CLASS", "value": used} in container["env"]


def test_people_get_their_roles_by_those_of_kubernetes_and_the_operator_none(tmp_path: Path) -> None:
    objects = rendered({}, tmp_path)
    people = {
        label.rpartition("-")[2]: {verb for rule in each["rules"] for verb in rule["verbs"]}
        for each in objects
        for label in each["metadata"].get("labels", {})
        if label.startswith("rbac.authorization.k8s.io/aggregate-to-")
    }
    assert people == {
        "view": {"get", "list", "watch"},
        "edit": {"create", "update", "patch", "delete"},
        "admin": {"customize", "propose", "use"},
    }
    assert not {"customize", "propose", "use"} & {verb for rule in rules(objects) for verb in rule["verbs"]}


def test_options_are_off_unless_asked_for(tmp_path: Path) -> None:
    optional = {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
    assert not optional & {each["kind"] for each in rendered({}, tmp_path)}
    assert optional <= {each["kind"] for each in rendered(EVERYTHING, tmp_path)}


def test_alerts_link_to_the_runbooks(tmp_path: Path) -> None:
    [group] = only(rendered(EVERYTHING, tmp_path), "PrometheusRule")["spec"]["groups"]
    links = [rule["annotations"]["runbook_url"] for rule in group["rules"]]
    assert all(link.startswith("https://git.example/runbooks/") for link in links)


def test_alerts_name_a_command_that_needs_no_address(tmp_path: Path) -> None:
    [group] = only(rendered({"prometheusRule": {"enabled": True}}, tmp_path), "PrometheusRule")["spec"]["groups"]
    assert all(rule["annotations"]["runbook"].startswith("kubectl mfu runbook ") for rule in group["rules"])
    assert [rule["alert"] for rule in group["rules"] if "runbook_url" in rule["annotations"]] == []


def test_two_releases_in_two_namespaces_do_not_meet(tmp_path: Path) -> None:
    def wide(namespace: str) -> set[tuple[str, str]]:
        done = run({}, tmp_path, "template", "mfu-operator", str(CHART), f"--namespace={namespace}")
        documents = [document for document in yaml.safe_load_all(done.stdout) if document]
        return {(each["kind"], each["metadata"]["name"]) for each in documents if "namespace" not in each["metadata"]}

    assert not wide("one") & wide("two")


def test_two_releases_in_one_namespace_have_a_lease_each_and_no_right_on_the_other_s(tmp_path: Path) -> None:
    def lease(release: str) -> tuple[str, list[str]]:
        done = run({}, tmp_path, "template", release, str(CHART), "--namespace=mfu-system")
        objects = [document for document in yaml.safe_load_all(done.stdout) if document]
        [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
        told = {each["name"]: each.get("value") for each in container["env"]}
        rules = [rule for each in objects if each["kind"] == "Role" for rule in each["rules"]]
        return told["MFU_LEASE"], [name for rule in rules for name in rule.get("resourceNames", ())]

    assert lease("mfu-operator") == ("mfu-operator", ["mfu-operator"])
    assert lease("prod") == ("prod-mfu-operator", ["prod-mfu-operator"])


def test_promtool_accepts_the_alerts() -> None:
    promtool = PROMTOOL or go_binaries("prometheus") / "promtool"
    alerts = CHART / "files" / "alerts.yaml"
    done = subprocess.run([str(promtool), "check", "rules", str(alerts)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_says_the_numbers_and_what_is_found_out_so_far() -> None:
    promtool = PROMTOOL or go_binaries("prometheus") / "promtool"
    command = [str(promtool), "test", "rules", "alerts_test.yaml"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_profiling_pods_of_listed_namespaces_accept_no_connection(tmp_path: Path) -> None:
    egress = [{"ports": [{"port": 443}]}]
    for rules in ([], egress):
        values = {"networkPolicy": {"enabled": False, "tenants": ["team-a", "team-b"], "tenantEgress": rules}}
        made = [each for each in rendered(values, tmp_path) if each["kind"] == "NetworkPolicy"]
        assert [each["metadata"]["namespace"] for each in made] == ["team-a", "team-b"]
        for each in made:
            assert each["spec"]["ingress"] == [] and each["spec"].get("egress", []) == rules
            assert each["spec"]["policyTypes"] == (["Ingress", "Egress"] if rules else ["Ingress"])
            selected = each["spec"]["podSelector"]
            assert selected["matchLabels"] == {MANAGED_BY_LABEL: MANAGER}
            assert selected["matchExpressions"] == [{"key": BASELINE_LABEL, "operator": "Exists"}]


def test_what_a_namespace_is_permitted_reaches_the_operator_and_the_policy(tmp_path: Path) -> None:
    objects = rendered(EVERYTHING, tmp_path)
    [container] = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert told["MFU_PROFILING_PERMITS"] == "training=hostPath+capabilities"
    assert told["MFU_REMEDIATION_MODES"] == "*=Observe,old=false,training=DryRun"
    assert told["MFU_EGRESS_HOSTS"] == "git.example.org,*.corp.example"
    checks = [each["expression"] for each in policy(objects, "mfu-system-mfu-operator")["spec"]["validations"]]
    permitted = [check for check in checks if "request.namespace in ['training']" in check]
    assert len(permitted) == 2
    assert any("hostPath" in check for check in permitted) and any("capabilities" in check for check in permitted)
    assert len([check for check in checks if "request.namespace in []" in check]) == 5


NOTES_AS_OBJECT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {text: %s}
"""


def notes(values: Mapping[str, Any], home: Path) -> str:
    """What helm prints after an installation: rendered as an object of a copy of the chart, for want of a cluster."""
    chart = home / "mfu-operator"
    shutil.copytree(CHART, chart, dirs_exist_ok=True)
    text = (CHART / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text('{{ define "notes" }}' + text + "{{ end }}")
    (chart / "templates" / "notes.yaml").write_text(NOTES_AS_OBJECT % '{{ include "notes" . | toJson }}')
    done = run(values, home, "template", "x", str(chart), "--show-only=templates/notes.yaml")
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["data"]["text"])


def test_an_image_without_a_registry_is_reported_at_the_installation(tmp_path: Path) -> None:
    said = notes({}, tmp_path)
    assert "image.repository is mfu-operator, which names no registry" in said
    assert "--set profilerImage.repository=REGISTRY/mfu-profiler" in said
    named = {name: {"repository": f"registry.example.com/{name}"} for name in ("image", "profilerImage")}
    assert "names no registry" not in notes(named, tmp_path)


def test_the_notes_say_that_no_host_is_asked_where_none_is_listed(tmp_path: Path) -> None:
    assert "egress.hosts is empty: it asks no host." in notes({}, tmp_path)
    own = {"prometheus": {"address": "http://prometheus:9090"}}
    assert "it asks no host but that of prometheus.address" in notes(own, tmp_path)
    for egress in ({"hosts": ["git.example.com"]}, {"hosts": ["*"]}, {"laboratory": True}):
        assert "egress.hosts is empty" not in notes({"egress": egress}, tmp_path)
