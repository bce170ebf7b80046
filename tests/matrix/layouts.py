"""Repositories as people lay them out, of the same training job."""

from collections.abc import Mapping
from typing import Any

JOB = "gpt"
WORKERS = "num_workers: 2"
NO_WORKERS = "num_workers: 0"
TRAIN = (
    "# Read by the trainer.\nloader:\n  num_workers: 2\n  prefetch_factor: 2\nlogging:\n  every_steps: 200\nseed: 1\n"
)
ARGS = "            - --num-workers=2\n            - --log-every=200\n            - --prefetch-factor=2\n"
"""As a plain manifest gives them to the program, each in a line of its own."""

CONFIG = """\
          volumeMounts:
            - {name: config, mountPath: /etc/train}
      volumes:
        - name: config
          configMap: {name: gpt-config}
"""


def job(image: str, args: str, more: str = "") -> str:
    """The manifest of the run. `args` are lines of a YAML list, `more` what follows the container's own fields."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: {JOB}
  annotations:
    argocd.argoproj.io/sync-options: Force=true,Replace=true
spec:
  backoffLimit: 100
  template:
    metadata:
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "9400"
    spec:
      restartPolicy: OnFailure
      terminationGracePeriodSeconds: 1
      automountServiceAccountToken: false
      containers:
        - name: trainer
          image: {image}
          imagePullPolicy: IfNotPresent
          command: [python3, /opt/trainer/trainer.py]
          args:
{args}\
          env:
            - {{name: MFU_PROBE_WINDOW_SECONDS, value: "4"}}
            # How much slower the storage of this namespace is, which nobody keeps in Git.
            - name: STORE_DELAY
              valueFrom:
                configMapKeyRef: {{name: storage, key: delay, optional: true}}
          ports:
            - {{name: metrics, containerPort: 9400}}
          resources:
            requests: {{cpu: 20m, memory: 48Mi}}
            limits: {{cpu: 500m, memory: 768Mi}}
{more}"""


def plain(image: str, folder: str = "gpt", args: str = ARGS) -> dict[str, str]:
    """A folder of manifests."""
    return {f"{folder}/job.yaml": job(image, args)}


def kustomize(image: str) -> dict[str, str]:
    """A base, and an overlay that gives it its configuration file and its image."""
    name, _, digest = image.partition("@")
    return {
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "base/job.yaml": job("trainer", "            - --config=/etc/train/train.yaml\n", CONFIG),
        "overlays/prod/kustomization.yaml": (
            "resources: [../../base]\n"
            "configMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"
            f"images:\n  - name: trainer\n    newName: {name}\n    digest: {digest}\n"
        ),
        "overlays/prod/train.yaml": TRAIN,
    }


def chart(folder: str = "charts/gpt/", version: str = "1.0.0", workers: int | None = 2) -> dict[str, str]:
    """A chart of the job. `workers`: by default; None: the chart has no such value, and the image says it."""
    image = '"{{ .Values.image.repository }}:{{ .Values.image.tag }}"'
    args, defaults = "            - --log-every=200\n", "image: {}\n"
    if workers is not None:
        args += "            - --num-workers={{ .Values.loader.num_workers }}\n"
        defaults += f"loader:\n  num_workers: {workers}\n"
    return {
        f"{folder}Chart.yaml": f"apiVersion: v2\nname: gpt\nversion: {version}\n",
        f"{folder}values.yaml": defaults,
        f"{folder}templates/job.yaml": job(image, args),
    }


def values(image: str, loader: str = f"loader:\n  {WORKERS}\n") -> str:
    """The values of the job's own environment: its image by tag, and its loader unless the chart says it."""
    name, _, tag = image.rpartition(":")
    return f"{loader}image:\n  repository: {name}\n  tag: {tag}\n"


def application(name: str, namespace: str, source: Mapping[str, Any] | list[Mapping[str, Any]]) -> dict[str, Any]:
    """An Application that keeps a namespace as one or several sources say."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "finalizers": ["resources-finalizer.argocd.argoproj.io"]},
        "spec": {
            "project": "default",
            **({"sources": source} if isinstance(source, list) else {"source": source}),
            "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "retry": {"limit": 10, "backoff": {"duration": "2s", "factor": 2, "maxDuration": "20s"}},
            },
        },
    }
