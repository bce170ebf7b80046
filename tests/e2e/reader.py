"""A reader who follows the tutorials on a real cluster: writes their files and types their commands, in order.

What stands in the place of a reader's own things is in `substitutes`; where a program that the page presupposes does
not run here (the Prometheus operator, Flux), its definitions are made, so that what is applied is stored, and the test
says about it what the program would say.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.toolchain import go_binaries
from tests.cluster.web import unproxied
from tests.demo.environment import Environment
from tests.docs.tutorials.pages import PAGES, ROOT, Command, commands, files

NAMESPACE = "training"
TRAINS = "import mfu_probe, time; [time.sleep(0.05) for _ in mfu_probe.start(peak_flops=1e9).steps(range(10**9))]"
WORKERS = "--num-workers=4"
PAGE = {page.stem: page for page in PAGES}
Text = Mapping[str, str]


def substitutes(environment: Environment, repository: str) -> Text:
    """What is written in the place of what the pages say: images, addresses, devices, and minutes as seconds."""
    scraped = '      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9400"}'
    return {
        "registry.example.com/ml/gpt:v12": environment.images["demo-workload"].reference,
        "https://git.example.com/ml/training.git": repository,
        "http://localhost:9090": environment.prometheus.url,
        "torchrun, --nproc-per-node=8, train.py": f"python3, -c, {json.dumps(TRAINS)}, {WORKERS}",
        "{limits: {nvidia.com/gpu: 8}}": "{limits: {cpu: 100m, memory: 128Mi}}",
        "      labels: {app: gpt}\n": f"      labels: {{app: gpt}}\n{scraped}\n",
        "duration: 30m, warmup: 5m": "duration: 20s, warmup: 2s",
    }


class Reader:
    """Somebody with kubectl, helm, kustomize, kubectl-mfu and git on the path, in a folder with a checkout's charts."""

    def __init__(self, environment: Environment, folder: Path, changes: Text) -> None:
        cluster = environment.cluster
        assert isinstance(cluster, Cluster)
        self.folder = folder
        self._changes = changes
        programs = folder / "bin"
        programs.mkdir()
        mfu = programs / "kubectl-mfu"
        mfu.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mfu_operator "$@"\n')
        mfu.chmod(0o755)
        (folder / "charts").symlink_to(ROOT / "charts")
        path = [programs, go_binaries("kubernetes"), go_binaries("helm"), go_binaries("kustomize"), os.environ["PATH"]]
        self._environment = unproxied() | {
            "PATH": os.pathsep.join(map(str, path)),
            "HOME": str(folder),
            "KUBECONFIG": str(cluster.kubeconfig),
            "PYTHONPATH": str(ROOT / "operator"),
        }

    def turn_to(self, page: str) -> None:
        """Write the page's files."""
        for name, text in files(PAGE[page]).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(self._changed(text))

    def types(self, page: str, beginning: str) -> str:
        """Run the command of the page that begins so; what it prints.

        Raises:
            AssertionError: The page has no such command, or it fails.
        """
        return self.runs(command_of(page, beginning))

    def runs(self, command: Command, *more: str) -> str:
        """Run a command, with more arguments; what it prints, which also goes where its line says."""
        words = [self._changed(word) for word in command.words]
        done = subprocess.run(
            [*words, *more], cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.into:
            (self.folder / command.into).write_text(done.stdout)
        return done.stdout

    def _changed(self, text: str) -> str:
        for old, new in self._changes.items():
            text = text.replace(old, new)
        return text


def command_of(page: str, beginning: str) -> Command:
    """The page's command that begins so."""
    found = [each for each in commands(PAGE[page]) if shlex.join(each.words).startswith(beginning)]
    assert found, f"{page} has no command that begins with {beginning!r}"
    return found[0]


def definition(group: str, kind: str, version: str) -> dict[str, Any]:
    """A definition that stores whatever an object of the kind says, with a status of its own."""
    plural = f"{kind.lower().removesuffix('y')}ies" if kind.endswith("y") else f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
