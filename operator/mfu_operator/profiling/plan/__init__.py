"""A workload's manifest → how its steps can be captured: in the running job, by a copy, or not yet and why.

manifest     looking into what strangers wrote, without trusting its shape
kinds        where each kind of workload keeps the pods of its roles; train_job: of a TrainJob and its runtime
runs         whose pods are whose, where runs are submitted again under another name
commands     what a container's command starts, and how many processes
training     which role and container train
live         whether the running job can be captured, and what is missing
copy_safety  whether one pod may run twice; copy_changes: what a copy changes; copy_table: the table of both
copy_job     the Job of a copy, field by field
instrument   what to add to this manifest so that the running job can be captured
plan         all of it together; `encode` writes the JSON of the contract
"""

from mfu_operator.profiling.plan.plan import Plan, encode, plan_of, training_in

__all__ = ["Plan", "encode", "plan_of", "training_in"]
