"""install.yaml: the chart rendered with its defaults, for `kubectl apply` without Helm."""

import subprocess
import tempfile
from pathlib import Path

import yaml

NAMESPACE = "mfu-system"
HEAD = """\
# mfu-operator {version}, as `helm template` renders its chart with the default values.
#
#   kubectl apply --server-side -f install.yaml
#   kubectl rollout status deployment/mfu-operator -n {namespace}
#
# Settings are environment variables of the Deployment (the chart's README lists them). It asks no host before
# MFU_PROMETHEUS_ADDRESS names its Prometheus and MFU_EGRESS_HOSTS those of forges and Git servers.
# What a namespace may do (Secrets, Argo CD, alerts) are values of the chart: use it for more than a first look.
"""


def rendered(chart: Path, version: str, helm: Path) -> str:
    """The manifest, with the namespace first and the definition among its objects.

    Raises:
        subprocess.CalledProcessError: helm does not take the chart; what it said is on standard error.
    """
    command = [str(helm), "template", "mfu-operator", str(chart), f"--namespace={NAMESPACE}", "--include-crds"]
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": "", "HOME": home, "KUBECONFIG": f"{home}/none"}
        text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    head = HEAD.format(version=version, namespace=NAMESPACE)
    return f"{head}---\n{yaml.safe_dump(namespace, sort_keys=False)}{text}"
