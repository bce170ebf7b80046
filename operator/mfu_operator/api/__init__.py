"""The custom resource as code: dict ↔ model, pure. `group` names, `decode` the spec, `status` both ways, `naming`."""
