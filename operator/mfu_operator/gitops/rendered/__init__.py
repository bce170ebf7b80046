"""What a workload really gets of rendered manifests, field by field, and where two renderings differ."""
