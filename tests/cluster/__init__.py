"""A real Kubernetes cluster on this machine, built from package registries alone.

One module per component. Each component is started, awaited and stopped by itself; :mod:`tests.cluster.cluster`
puts them together.
"""
