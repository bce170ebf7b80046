"""The operator's settings, read from the environment."""

import pytest

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.profiling.privileges import Privilege
from mfu_operator.settings import Settings, from_environment


def test_nothing_set_is_the_defaults() -> None:
    assert from_environment({}) == Settings()


def test_an_empty_variable_is_not_set() -> None:
    empty = dict.fromkeys(
        ("MFU_PROMETHEUS_ADDRESS", "MFU_NAMESPACE", "MFU_WATCH_NAMESPACES", "MFU_SWEEP_INTERVAL", "MFU_POD_NAME"), ""
    )
    assert from_environment(empty) == Settings()


def test_every_variable_is_read() -> None:
    found = from_environment(
        {
            "MFU_PROMETHEUS_ADDRESS": "http://prometheus:9090",
            "MFU_PROMETHEUS_TENANT": "ml",
            "MFU_PROMETHEUS_CREDENTIALS": "/etc/mfu-operator/prometheus",
            "MFU_METRICS_PROFILE": "torchtitan",
            "MFU_METRIC_NAMES": "mfu=our_mfu, phase=",
            "MFU_METRIC_LABELS": "pod=exported_pod",
            "MFU_PROFILER_IMAGE": "profiler:1",
            "MFU_NAMESPACE": "mfu",
            "MFU_LEASE": "prod-mfu-operator",
            "MFU_INSTALLATION": "eu-west-1",
            "MFU_EGRESS_HOSTS": "git.example.org,*.corp.example",
            "MFU_EGRESS_REFUSED": "10.9.0.0/24",
            "MFU_LABORATORY": "true",
            "MFU_ADMISSION_POLICY": "mfu-system-mfu-operator-authority,mfu-system-mfu-operator-authority.2",
            "MFU_ACCEPT_UNGUARDED": "true",
            "MFU_REMEDIATION_MODES": "team-a=DryRun,*=Observe,team-b=Off,team-c=false",
            "MFU_PROFILING_PRIORITY_CLASSES": "low, lower",
            "MFU_PROFILING_PERMITS": "team-a=hostPath+capabilities,team-b=privileged",
            "MFU_WATCH_NAMESPACES": "team-a, team-b,",
            "MFU_POD_NAME": "mfu-operator-x",
            "MFU_RUNBOOK_BASE_URL": "https://runbooks.example/",
            "MFU_PRIORITY_CLASS": "mfu-profiling",
            "MFU_SWEEP_INTERVAL": "2",
            "MFU_RECONCILE_INTERVAL": "2.5",
            "MFU_LISTEN_ADDRESS": "127.0.0.1",
            "MFU_HEALTH_PORT": "8081",
            "MFU_METRICS_PORT": "9091",
        }
    )
    assert found == Settings(
        prometheus_address="http://prometheus:9090",
        prometheus_tenant="ml",
        prometheus_credentials="/etc/mfu-operator/prometheus",
        metrics_profile="torchtitan",
        metric_names={"mfu": "our_mfu", "phase": ""},
        metric_labels={"pod": "exported_pod"},
        profiler_image="profiler:1",
        namespace="mfu",
        lease="prod-mfu-operator",
        installation="eu-west-1",
        egress_hosts=("git.example.org", "*.corp.example"),
        egress_refused=("10.9.0.0/24",),
        laboratory=True,
        admission_policy=("mfu-system-mfu-operator-authority", "mfu-system-mfu-operator-authority.2"),
        accept_unguarded=True,
        remediation_modes={
            "team-a": RemediationMode.DRY_RUN,
            **dict.fromkeys(("*", "team-b", "team-c"), RemediationMode.OBSERVE),
        },
        priority_classes=("low", "lower"),
        profiling_permits={
            "team-a": frozenset({Privilege.HOST_PATH, Privilege.CAPABILITIES}),
            "team-b": frozenset({Privilege.PRIVILEGED}),
        },
        watch_namespaces=("team-a", "team-b"),
        pod_name="mfu-operator-x",
        runbook_base_url="https://runbooks.example/",
        priority_class="mfu-profiling",
        sweep_interval_s=2.0,
        reconcile_interval_s=2.5,
        listen_address="127.0.0.1",
        health_port=8081,
        metrics_port=9091,
    )


@pytest.mark.parametrize("text", ["soon", "0", "-1", "30s", "nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize("name", ["MFU_SWEEP_INTERVAL", "MFU_RECONCILE_INTERVAL", "MFU_HEALTH_PORT"])
def test_what_is_no_number_above_zero_is_refused_with_an_example(name: str, text: str) -> None:
    with pytest.raises(Stall) as raised:
        from_environment({name: text})
    assert raised.value.reason == "InvalidSetting"
    assert f"{name}={text!r}" in raised.value.message
    assert f"for example {name}=" in raised.value.message


@pytest.mark.parametrize("text", ["8080.5", "1e3", "65536", "٨٠٨٠", " 80"])
@pytest.mark.parametrize("name", ["MFU_HEALTH_PORT", "MFU_METRICS_PORT"])
def test_what_is_no_port_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(Stall) as raised:
        from_environment({name: text})
    assert raised.value.reason == "InvalidSetting"
    assert f"{name}={text!r}" in raised.value.message
    assert "from 1 to 65535" in raised.value.message


def test_the_last_port_is_a_port() -> None:
    assert from_environment({"MFU_HEALTH_PORT": "65535"}).health_port == 65535


def test_the_process_environment_is_what_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MFU_NAMESPACE", "from-the-process")
    assert from_environment().namespace == "from-the-process"


@pytest.mark.parametrize("text", ["mfu", "=x", "mfu=a,phase"])
def test_names_that_are_no_pairs_are_refused(text: str) -> None:
    with pytest.raises(Stall, match="key=value"):
        from_environment({"MFU_METRIC_NAMES": text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MFU_EGRESS_REFUSED", "10.0.0.0/40"),
        ("MFU_LABORATORY", "yes"),
        ("MFU_ACCEPT_UNGUARDED", "yes"),
        ("MFU_REMEDIATION_MODES", "team-a=PullRequest"),
        ("MFU_REMEDIATION_MODES", "team-a=off"),
        ("MFU_PROFILING_PERMITS", "team-a=everything"),
        ("MFU_INSTALLATION", "a b"),
    ],
)
def test_a_setting_of_where_the_operator_may_go_is_checked(name: str, text: str) -> None:
    with pytest.raises(Stall) as raised:
        from_environment({name: text})
    assert raised.value.reason == "InvalidSetting"
    assert name in raised.value.message


def test_a_budget_of_the_fleet_is_a_whole_number_or_none() -> None:
    assert from_environment({"MFU_CAPTURES_PER_DAY": ""}).captures_per_day is None
    assert from_environment({"MFU_COPY_GPU_MINUTES_PER_DAY": "600"}).copy_gpu_minutes_per_day == 600
    with pytest.raises(Stall, match="MFU_CAPTURES_PER_DAY"):
        from_environment({"MFU_CAPTURES_PER_DAY": "many"})
