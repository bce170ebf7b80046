"""What is said of one pair of a family, recorded and read again."""

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.accuracy.families import BY_NAME
from tests.accuracy.family import NOTHING, Family, Loops
from tests.accuracy.trial import recorded_ranks
from tests.support.synthetic.altered import Lacking
from tests.support.synthetic.kineto_file import VERSIONS, KinetoFile
from tests.support.synthetic.loop import Recorder
from tests.support.synthetic.nsys_file import SCHEMAS, NsysFile


@dataclass(frozen=True)
class Answer:
    family: str
    said: str

    @property
    def verdict(self) -> str:
        family = BY_NAME[self.family]
        return "right" if self.said in family.right else "abstained" if self.said in family.abstains else "wrong"


def answer(name: str, seed: int) -> Answer:
    family = BY_NAME[name]
    dice = random.Random(f"{name} {seed}")
    before, after = family.pair(dice)
    form = family.forms[seed % len(family.forms)]
    versions = sorted(SCHEMAS) if form == "nsys" else VERSIONS
    first = dice.choice(versions)
    second = dice.choice([one for one in versions if one != first]) if family.other_version else first
    with tempfile.TemporaryDirectory(prefix="mfu-accuracy-") as folder:
        now = profile([_recorded(after, family, form, second, Path(folder) / "after", dice)])
        baseline = before and profile([_recorded(before, family, form, first, Path(folder) / "before", dice)])
        found = diagnose(now, baseline or None)
    return Answer(name, said(found.bottleneck.value if found.bottleneck else None, found.cause))


def said(bottleneck: str | None, cause: str | None) -> str:
    if bottleneck in (None, "Inconclusive"):
        return bottleneck or NOTHING
    return f"{bottleneck}/{cause}"


def _recorded(loops: Loops, family: Family, form: str, version: str, path: Path, dice: random.Random) -> Path:
    if isinstance(loops, tuple):
        return recorded_ranks(loops, form, version, path, dice)
    file = NsysFile(version) if form == "nsys" else KinetoFile(version)
    recorder: Recorder = Lacking(file, **family.lacking) if family.lacking else file
    loops.record(recorder, dice.randrange(1 << 30))
    return file.write(path)
