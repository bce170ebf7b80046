"""One name for each number format, whatever frameworks call it."""

import re

_SYNONYMS = {
    "bfloat16": "bf16", "ampbf16": "bf16", "bf16mixed": "bf16", "bf16true": "bf16",
    "float16": "fp16", "half": "fp16", "ampfp16": "fp16", "16mixed": "fp16", "16true": "fp16",
    "float32": "fp32", "32true": "fp32",
    "float8": "fp8", "ampfp8": "fp8", "transformerengine": "fp8",
}  # fmt: skip
"""Composer's Precision (amp_bf16), Lightning's precision argument (bf16-mixed, 16-mixed, transformer-engine), PyTorch's
and JAX' dtypes (bfloat16)."""

KNOWN = frozenset({*_SYNONYMS.values(), "tf32", "fp4", "fp64"})
"""The short names."""


def precision_of(text: str) -> str:
    """The short name ("bf16") of a format; what is not known comes back in lower case without punctuation."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower())
    return _SYNONYMS.get(plain, plain)
