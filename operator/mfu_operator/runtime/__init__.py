"""The hands: observe what the brain needs, perform what it decides, keep the measurements apart from both.

No kopf here: `handlers/` and the command line drive it.
"""
