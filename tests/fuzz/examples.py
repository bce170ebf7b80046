"""One sound example of everything that strangers send, as small as it can be."""

import gzip
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import strategies as st

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.model.account import KernelTotal, StepAccount
from mfu_operator.model.baseline import ForgeKind, MetricsSource
from mfu_operator.profiling.live.request import TargetPod
from mfu_operator.trace.termination_message import encode
from tests.support.facts import facts_of
from tests.support.forge_servers import AzureServer, BitbucketServer, GiteaServer, GitHubServer, GitLabServer, Server
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile


def _kineto() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = KinetoFile()
        Loop(steps=3).record(file, 1)
        return json.loads(gzip.decompress(file.write(Path(folder) / "t").read_bytes()))


def _nsys() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = NsysFile()
        Loop(steps=3).record(file, 1)
        return file.write(Path(folder) / "t").read_bytes()


def _key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


KINETO, NSYS, APP_KEY = _kineto(), _nsys(), _key()
APP_TOKEN = {"token": "ghs_x", "expires_at": "2027-01-15T09:00:00Z"}
NAMES = names_of(MetricsSource())
_METRICS = st.sampled_from(sorted({*NAMES.names.values(), *NAMES.vitals.values()}))
_LABELS = st.sampled_from(
    ["", '{pod="a"}', '{pod="\\', '{a="b",a="b"}', '{"', "{}", '{pod="a\\n"} # {x="y"} 1', "{{{{"]
)
_VALUES = st.sampled_from(
    [" 1", " NaN", " +Inf", " 1e400", " 0x1", "", " 1 9" + "9" * 40, " {count:1}", " 1 # {} 1 1", " ١"]
)
PAGES = (
    st.lists(st.tuples(_METRICS, _LABELS, _VALUES).map("".join) | st.text(max_size=30), max_size=12)
    .map("\n".join)
    .flatmap(lambda page: st.sampled_from([page, page + "\n# EOF\n"]))
)
SERIES = {
    "status": "success",
    "data": {
        "resultType": "vector",
        "result": [{"metric": {"pod": "a"}, "value": [1.0, "2"]}, {"values": [[1.0, "2"]]}],
    },
    "warnings": ["x"],
}
YAML_PIECES = (
    *(
        "a",
        "b",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&x ",
        "*x",
        "<<: ",
        "!!int ",
        "!!python/name:os.system ",
        "|\n",
        ">-\n",
    ),
    *(
        "'",
        '"',
        "#",
        "---\n",
        "...\n",
        "?",
        "0x",
        "1e5",
        "~",
        "\\",
        "kind: Job\n",
        "metadata: ",
        "name: ",
        "=",
        "[a]\n",
        "export ",
    ),
)
MANIFEST = (
    "kind: Job\nmetadata: {name: gpt}\nspec:\n  template: {spec: {containers: [{name: train, args: [--lr, '1']}]}}\n"
)
OBJECT = {
    "kind": "Job",
    "metadata": {"name": "gpt", "labels": {"a": "b"}},
    "spec": {
        "template": {
            "spec": {
                "containers": [{"name": "train", "command": ["bash", "-c", "x --a=1 | y"], "env": [{"name": "A"}]}]
            }
        }
    },
}
CAPTURE = {"id": "a", "firstStep": 10, "steps": 5, "activities": ["cpu"]}
POD = TargetPod("u", "p", "10.0.0.1", None, 9090)
DESCRIBED = {
    "recorder": "r",
    "rank": 0,
    "worldSize": 2,
    "step": 7,
    "stepSeconds": 0.5,
    "limits": {"steps": 3, "bytes": 5},
}
PROGRESS = {"state": "done", "step": 3, "firstStep": 1, "bytes": 7, "pauseSeconds": 0.1, "startNs": 1, "endNs": 2}
SPEC = {
    "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt", "container": "train"},
    "comparable": {"model": "gpt", "gpuCount": 8, "labels": {"a": "b"}},
    "baseline": {"values": {"mfu": 0.46}},
    "metrics": {"prometheus": {"address": "https://p.example", "secretRef": {"name": "s"}}},
    "detection": {"tolerance": "5%", "window": "10m"},
    "profiling": {"steps": 12, "deadline": "15m", "command": ["a"], "env": {"A": "b"}, "writableVolumes": ["v"]},
    "remediation": {
        "mode": "DryRun",
        "branch": "main",
        "repository": "https://g.example/a/b",
        "forge": {"kind": "GitHub"},
    },
}


ACCOUNT = json.loads(
    encode(
        StepAccount(
            count=5,
            mean_ns=700.0,
            std_ns=3.0,
            parts_ns={"compute": 700.0},
            gpu="NVIDIA H100 80GB HBM3",
            kernels=(KernelTotal("gemm", "gemm", 2.0, 50.0),),
            ranges_ns={"forward": 7.0},
            facts=facts_of(loader="inline", inputNetworkCalls=4.0),
            warnings=("only 3 steps recorded",),
        )
    )
)
_SERVERS: Mapping[ForgeKind, type[Server]] = {
    ForgeKind.GITHUB: GitHubServer,
    ForgeKind.GITLAB: GitLabServer,
    ForgeKind.GITEA: GiteaServer,
    ForgeKind.FORGEJO: GiteaServer,
    ForgeKind.AZURE_DEVOPS: AzureServer,
    ForgeKind.BITBUCKET: BitbucketServer,
}


def _answers(kind: ForgeKind) -> list[Any]:
    """A pull request that is merged, a list of it as the forge gives lists, a commit, and a repository."""
    server = _SERVERS[kind]()
    pull = server.opened("b", "main", "t", "b")
    pull.state = "merged"
    shown = dict(server.show(pull))
    listed = {ForgeKind.BITBUCKET: {"values": [shown]}, ForgeKind.AZURE_DEVOPS: {"value": [shown]}}.get(kind, [shown])
    said = {"message": "m", "commit": {"message": "m"}}
    return [shown, listed, said, {"default_branch": "main", "id": 1}]


FORGE_ANSWERS = {kind: _answers(kind) for kind in _SERVERS}
