"""A workload's manifest → how its steps can be captured: in the running job, by a copy, or not yet and why.

manifest   looking into what strangers wrote, without trusting its shape
kinds      where each kind of workload keeps the pods of its roles
commands   what a container's command starts, and how many processes
training   which role and container train
live       whether the running job can be captured, and what is missing
copying    whether one pod may run twice, and what a copy changes
instrument what to add to this manifest so that the running job can be captured
plan       all of it together; `encode` writes the JSON of the contract
"""

from mfu_operator.profiling.plan.plan import Plan, encode, plan_of, training_in

__all__ = ["Plan", "encode", "plan_of", "training_in"]
