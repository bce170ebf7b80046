"""`kubectl mfu onboard`: the files for Git that put a workload under watch, and the commands that go with them.

subject       a workload, what stands beside it, and how its steps can be captured
in_cluster    the same as the cluster has it
mesh          the service mesh that its pods are in, and what lets a capture through
policies      whether NetworkPolicies keep a capture from its pods
files         TrainingBaseline, patch and Kustomize component, written without overwriting anything
told          what a person does next
command       the command
"""

from mfu_operator.cli.onboard.command import onboard_command

__all__ = ["onboard_command"]
