"""The brain, pure: from what is seen of the world to the one next effect, and from its outcome to the status.

refresh    what this tick saw, written into the record        (refresh.py)
decide     the first missing fact and how it is obtained      (decide.py, healthy.py, incident.py)
conclude   an effect's outcome, or its error, as facts        (conclude.py)
conditions the record as Kubernetes conditions                (conditions.py)
"""
