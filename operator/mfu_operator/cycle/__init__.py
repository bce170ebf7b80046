"""One tick of one baseline: observe what the brain needs, perform what it decides, conclude."""
