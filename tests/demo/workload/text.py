"""The text that is trained on and how it becomes tokens; generated, so that every run sees the same without a download.

An object is a few kilobytes of sentences from a small grammar with a skewed choice of words, which a small model learns
within minutes. Its content depends on its shard and index only.
"""

import random
from typing import Final

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.uint8]

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:?!\n-'"
UNKNOWN: Final = len(ALPHABET)
VOCABULARY: Final = len(ALPHABET) + 1
OBJECT_BYTES: Final = 4096

_TOKEN_OF_BYTE: Final = bytes(ALPHABET.find(chr(code)) if chr(code) in ALPHABET else UNKNOWN for code in range(256))
_UPPER_OF_TOKEN: Final = np.array(
    [ALPHABET.index(letter.upper()) for letter in ALPHABET] + [UNKNOWN], dtype=np.uint8
)  # token to token, so that a sample changes case without being decoded

_SUBJECTS: Final = ("the loader", "a worker", "the model", "one rank", "the scheduler", "every kernel", "the optimizer")
_VERBS: Final = ("waits for", "feeds", "computes", "overlaps", "profiles", "reverts", "restarts", "measures")
_OBJECTS: Final = ("a batch", "the gradient", "its shard", "the checkpoint", "a collective", "the baseline", "a commit")
_ENDINGS: Final = (". ", ", and ", "; then ", "! ", "? ")


def generate_object(shard: int, index: int, size: int = OBJECT_BYTES) -> bytes:
    """The `size` bytes of text of object `index` in `shard`, always the same."""
    dice = random.Random(f"{shard}/{index}")
    text = ""
    while len(text) < size:
        text += _sentence(dice)
    return text[:size].encode("ascii")


def _sentence(dice: random.Random) -> str:
    subject = _SUBJECTS[min(dice.randrange(len(_SUBJECTS)), dice.randrange(len(_SUBJECTS)))]
    return f"{subject} {dice.choice(_VERBS)} {dice.choice(_OBJECTS)}{dice.choice(_ENDINGS)}"


def tokenize(text: bytes) -> Tokens:
    """One token per byte; a byte outside the alphabet becomes UNKNOWN. Shape (len(text),)."""
    return np.frombuffer(text.translate(_TOKEN_OF_BYTE), dtype=np.uint8)


def augment(tokens: Tokens, sequence_length: int, dice: np.random.Generator, *, dropout: float = 0.01) -> Tokens:
    """A random crop of `sequence_length + 1` tokens, one in eight in capitals, a share `dropout` of it unknown."""
    start = int(dice.integers(0, len(tokens) - sequence_length))
    crop: Tokens = tokens[start : start + sequence_length + 1].copy()
    if dice.random() < 1 / 8:
        crop = _UPPER_OF_TOKEN[crop]
    crop[dice.random(crop.shape) < dropout] = UNKNOWN
    return crop
