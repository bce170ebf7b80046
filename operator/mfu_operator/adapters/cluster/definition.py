"""The definition (CRD) of TrainingBaselines as the API server serves it."""

import json
from collections.abc import Mapping
from typing import Any

from kubernetes import client

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.api.group import GROUP, PLURAL, VERSION

REQUEST_TIMEOUT_S = 15.0


def served_schema(api: client.ApiClient) -> Mapping[str, Any] | None:
    """The openAPIV3Schema of our version; None where there is no such definition, or not this version of it.

    A list of one, because the operator may list definitions and not get them.
    """
    name = f"{PLURAL}.{GROUP}"
    with translated(f"reading the definition {name}"):
        answer: Any = client.ApiextensionsV1Api(api).list_custom_resource_definition(
            field_selector=f"metadata.name={name}", _preload_content=False, _request_timeout=REQUEST_TIMEOUT_S
        )
        items = json.loads(answer.data)["items"]
    versions = [version for item in items for version in item["spec"]["versions"] if version["name"] == VERSION]
    return versions[0]["schema"]["openAPIV3Schema"] if versions else None
