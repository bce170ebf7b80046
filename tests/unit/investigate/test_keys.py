"""Where people keep what makes a step slow: each in its own form, with a harmless change of the same form beside it."""

# ruff: noqa: E501 - tables of commands and files as people write them
import json
from pathlib import Path

import pytest

from tests.support.suspect_story import Story, config_map, job

POD = (
    "template:\n{i}  metadata: {{labels: {{app: gpt}}}}\n{i}  spec:\n{i}    containers:\n{i}      - name: {name}\n"
    "{i}        image: registry.example/gpt:v1\n{i}        command: {command}\n"
    "{i}        resources: {{limits: {{nvidia.com/gpu: 8}}}}\n"
)


def pod(command: str, indent: int, name: str = "pytorch") -> str:
    space = " " * indent
    return POD.format(i=space, command=command, name=name)


def head(version: str, kind: str) -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: gpt}}\nspec:\n"


KINDS = {
    "PyTorchJob": lambda c: head("kubeflow.org/v1", "PyTorchJob") + "  pytorchReplicaSpecs:\n    Worker:\n      replicas: 4\n      "
    + pod(c, 6),
    "MPIJob": lambda c: head("kubeflow.org/v2beta1", "MPIJob") + "  slotsPerWorker: 8\n  mpiReplicaSpecs:\n    Launcher:\n      "
    + pod(c, 6, "launcher"),
    "JobSet": lambda c: head("jobset.x-k8s.io/v1alpha2", "JobSet") + "  replicatedJobs:\n    - name: workers\n      template:\n"
    "        spec:\n          " + pod(c, 10),
    "TrainJob": lambda c: head("trainer.kubeflow.org/v1alpha1", "TrainJob")
    + f"  runtimeRef: {{name: torch}}\n  trainer:\n    numNodes: 4\n    image: registry.example/gpt:v1\n    command: {c}\n",
    "RayJob": lambda c: head("ray.io/v1", "RayJob") + f"  entrypoint: {json.dumps(' '.join(json.loads(c)))}\n  rayClusterSpec:\n"
    "    headGroupSpec:\n      " + pod("[ray]", 6, "ray-head"),
    "LeaderWorkerSet": lambda c: head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet") + "  leaderWorkerTemplate:\n    size: 4\n"
    "    worker" + pod(c, 4).replace("template:", "Template:", 1),
    "CronJob": lambda c: head("batch/v1", "CronJob") + "  schedule: '@daily'\n  jobTemplate:\n    spec:\n      " + pod(c, 6),
    "StatefulSet": lambda c: head("apps/v1", "StatefulSet") + "  serviceName: gpt\n  " + pod(c, 2),
    "Deployment": lambda c: head("apps/v1", "Deployment") + "  " + pod(c, 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_with_pods_is_read(tmp_path: Path, kind: str) -> None:
    story = Story(tmp_path)
    for subject, workers in (("Good", 8), ("Same", 8), ("Fewer", 0)):
        words = ["python", "train.py", "--seed", subject, "--num-workers", str(workers)]
        story.commit(subject, {"job.yaml": KINDS[kind](json.dumps(words))})
    told = story.ask("DataLoaderWorkers", workload=f"{kind}/gpt")
    assert told.chosen == "Fewer"
    assert told.verdict("Same") == "unknown"


def test_a_volcano_job_is_read(tmp_path: Path) -> None:
    story = Story(tmp_path)
    for subject, value in (("Good", "nccl"), ("Gloo", "gloo")):
        words = json.dumps(["torchrun", "train.py", "--distributed-backend", value])
        text = (
            head("batch.volcano.sh/v1alpha1", "Job")
            + "  tasks:\n    - name: worker\n      replicas: 4\n      "
            + pod(words, 6)
        )
        story.commit(subject, {"job.yaml": text})
    assert story.ask("HostCollectives").chosen == "Gloo"


# (form, cause, good, harmless on top of good, guilty on top of harmless)
COMMANDS = {
    "mpirun's variables": ("SlowLink",
        "mpirun -np 16 -x NCCL_DEBUG=WARN -x NCCL_IB_DISABLE=0 python train.py",
        "mpirun -np 16 -x NCCL_DEBUG=INFO -x NCCL_IB_DISABLE=0 python train.py",
        "mpirun -np 16 -x NCCL_DEBUG=INFO -x NCCL_IB_DISABLE=1 python train.py"),
    "several programs": ("DataLoaderWorkers",
        "pip install -r r.txt && torchrun train.py --num_workers=8 && python eval.py --num_workers=8",
        "pip install -q -r r.txt && torchrun train.py --num_workers=8 && python eval.py --num_workers=8",
        "pip install -q -r r.txt && torchrun train.py --num_workers=0 && python eval.py --num_workers=8"),
    "a flag switched off": ("LostOverlap",
        "torchrun pretrain_gpt.py --overlap-grad-reduce --tag a",
        "torchrun pretrain_gpt.py --overlap-grad-reduce --tag b",
        "torchrun pretrain_gpt.py --no-overlap-grad-reduce --tag b"),
    "Hydra": ("DataLoaderWorkers",
        "python train.py data.num_workers=8 trainer.max_steps=10",
        "python train.py data.num_workers=8 trainer.max_steps=20",
        "python train.py data.num_workers=1 trainer.max_steps=20"),
    "exported variables": ("Allocator",
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nexport RUN=1\nexec torchrun train.py",
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nexport RUN=2\nexec torchrun train.py",
        "export PYTORCH_CUDA_ALLOC_CONF=backend:native\nexport RUN=2\nexec torchrun train.py"),
    "Lightning": ("PrecisionLost",
        "python main.py fit --trainer.precision=bf16-mixed --trainer.max_epochs=1",
        "python main.py fit --trainer.precision=bf16-mixed --trainer.max_epochs=2",
        "python main.py fit --trainer.precision=32-true --trainer.max_epochs=2"),
    "Accelerate": ("PrecisionLost",
        "accelerate launch --mixed_precision bf16 --num_processes 8 train.py --epochs 1",
        "accelerate launch --mixed_precision bf16 --num_processes 8 train.py --epochs 2",
        "accelerate launch --mixed_precision no --num_processes 8 train.py --epochs 2"),
    "HF Trainer": ("PrecisionLost",
        "torchrun run_clm.py --bf16 True --output_dir a", "torchrun run_clm.py --bf16 True --output_dir b",
        "torchrun run_clm.py --bf16 False --output_dir b"),
    "torchtitan": ("Recompute",
        "torchrun -m torchtitan.train --activation_checkpoint.mode none --metrics.log_freq 10",
        "torchrun -m torchtitan.train --activation_checkpoint.mode none --metrics.log_freq 20",
        "torchrun -m torchtitan.train --activation_checkpoint.mode full --metrics.log_freq 20"),
    "Megatron": ("Recompute",
        "torchrun pretrain_gpt.py --bf16 --recompute-granularity selective --seed 1",
        "torchrun pretrain_gpt.py --bf16 --recompute-granularity selective --seed 2",
        "torchrun pretrain_gpt.py --bf16 --recompute-granularity full --seed 2"),
    "a file that the script writes": ("Offload",
        'cat > ds.json <<EOF\n{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "none"}}}\nEOF\ndeepspeed t.py',
        'cat > ds.json <<EOF\n{"zero_optimization": {"stage": 2, "offload_optimizer": {"device":"none"}}}\nEOF\ndeepspeed t.py',
        'cat > ds.json <<EOF\n{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}\nEOF\ndeepspeed t.py'),
}  # fmt: skip


@pytest.mark.parametrize("form", COMMANDS)
def test_a_key_of_a_command_line_is_found(tmp_path: Path, form: str) -> None:
    cause, *states = COMMANDS[form]
    story = Story(tmp_path)
    for subject, script in zip(("Good", "Harmless", "Guilty"), states, strict=True):
        words = json.dumps(["bash", "-lc", script])
        story.commit(subject, {"job.yaml": head("batch/v1", "Job") + "  " + pod(words, 2)})
    told = story.ask(cause)
    assert told.chosen == "Guilty", told.because
    assert told.verdict("Harmless") != "suspected"


# (file, cause, good, harmless, guilty)
FILES = {
    "ds_config.json": ("ExposedCollectives", '{"zero_optimization": {"stage": 1}, "steps_per_print": 10}',
                       '{"zero_optimization": {"stage": 1},\n "steps_per_print": 10}',
                       '{"zero_optimization": {"stage": 3}, "steps_per_print": 10}'),
    "train.toml": ("Unfused", "[training]\ncompile = true\nsteps = 10\n", "[training]\ncompile = true\nsteps = 11\n",
                   "[training]\ncompile = false\nsteps = 11\n"),
    "settings.env": ("SlowLink", "NCCL_ALGO=Ring\nNCCL_IB_DISABLE=0\n", "NCCL_IB_DISABLE=0\nNCCL_ALGO=Ring\n",
                     "NCCL_IB_DISABLE=1\nNCCL_ALGO=Ring\n"),
    "run.sh": ("DataLoaderWorkers", "#!/bin/bash\nset -e\ntorchrun train.py --num-workers 8\n",
               "#!/bin/bash\n# run\nset -e\ntorchrun train.py \\\n  --num-workers 8\n",
               "#!/bin/bash\nset -e\ntorchrun train.py --num-workers 0\n"),
    "train.py": ("PageableCopies", "loader = DataLoader(data, pin_memory=True)\n",
                 "# pinned\nloader = DataLoader(data,\n    pin_memory=True)\n",
                 "loader = DataLoader(data, pin_memory=False)\n"),
    "nemo.yaml": ("PrecisionLost", "trainer: {precision: bf16}\nmodel: {seed: 1}\n", "model: {seed: 1}\ntrainer: {precision: bf16}\n",
                  "trainer: {precision: 32}\nmodel: {seed: 1}\n"),
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_a_key_of_a_file_in_a_configmap_is_found_and_its_layout_innocent(tmp_path: Path, file: str) -> None:
    cause, *states = FILES[file]
    story = Story(tmp_path)
    for subject, text in zip(("Good", "Harmless", "Guilty"), states, strict=True):
        story.commit(subject, {"job.yaml": job(), "config.yaml": config_map(text, file=file)})
    told = story.ask(cause)
    assert told.chosen == "Guilty", told.because
    assert told.verdict("Harmless") == ("unknown" if file == "train.toml" else "innocent")


def test_a_fabric_device_that_is_not_asked_for_any_more_is_found(tmp_path: Path) -> None:
    story = Story(tmp_path)
    limits = '{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "5Gi"}'
    story.commit("Good", {"job.yaml": job(resources=f'{{"limits": {limits}}}')})
    without = limits.replace('"vpc.amazonaws.com/efa": 32, ', "")
    story.commit("Fabric", {"job.yaml": job(resources=f'{{"limits": {without}}}')})
    assert story.ask("SlowLink").chosen == "Fabric"


def test_an_entry_of_a_configmap_that_no_container_mounts_is_innocent(tmp_path: Path) -> None:
    story = Story(tmp_path)
    one = job().replace(
        "configMap: {name: gpt-config}", "configMap: {name: gpt-config, items: [{key: train.yaml, path: train.yaml}]}"
    )
    both = config_map("num_workers: 8\n") + "  other.yaml: |\n    num_workers: 8\n"
    story.commit("Good", {"job.yaml": one, "config.yaml": both})
    story.commit(
        "Other", {"config.yaml": both.replace("other.yaml: |\n    num_workers: 8", "other.yaml: |\n    num_workers: 0")}
    )
    assert story.ask("DataLoaderWorkers").verdict("Other") == "innocent"


def test_a_sidecar_s_limit_is_not_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path)
    side = (
        "        - name: logs\n          image: logs:v1\n          resources: {limits: {cpu: '%s'}}\n      volumes:\n"
    )
    story.commit("Good", {"job.yaml": job().replace("      volumes:\n", side % 2)})
    story.commit("Side", {"job.yaml": job().replace("      volumes:\n", side % 1)})
    assert story.ask("DataLoaderWorkers").chosen is None


def test_a_deeper_diagnosis_is_not_blocked(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.commit("Good", {"job.yaml": job(), "config.yaml": config_map("ddp: {overlap_grad_reduce: true}\n")})
    story.commit("Overlap", {"config.yaml": config_map("ddp: {overlap_grad_reduce: false}\n")})
    assert story.ask("LostOverlap").chosen == story.ask("CommsBound").chosen == "Overlap"


def test_shared_memory_that_shrinks_is_found(tmp_path: Path) -> None:
    story = Story(tmp_path)
    shm = "      volumes:\n        - name: dshm\n          emptyDir: {medium: Memory, sizeLimit: %s}\n"
    story.commit("Good", {"job.yaml": job().replace("      volumes:\n", shm % "64Gi")})
    story.commit("Same", {"job.yaml": job().replace("      volumes:\n", shm % "65536Mi")})
    story.commit("Less", {"job.yaml": job().replace("      volumes:\n", shm % "64Mi")})
    told = story.ask("DataLoaderWorkers")
    assert told.chosen == "Less"
    assert told.verdict("Same") == "innocent"


def test_an_argument_that_goes_leaves_its_program_there(tmp_path: Path) -> None:
    story = Story(tmp_path)
    program = "import torch\nloader = DataLoader(data, num_workers=8, pin_memory=True)\n"
    story.commit("Good", {"job.yaml": job(), "config.yaml": config_map(program, file="train.py")})
    story.replace("Gone", "config.yaml", "num_workers=8, ", "")
    told = story.ask("DataLoaderWorkers")
    assert told.chosen == "Gone"
    (row,) = told.suspect("Gone")["rendered"]
    assert row["field"] == 'data["train.py"]'
    assert "num_workers=8" in row["before"] and "pin_memory=True" in row["after"]
    assert "num_workers 8 → (absent)" in told.because
