"""Rendering as the delivery tools do it: kustomize and Helm in a process without a world."""
