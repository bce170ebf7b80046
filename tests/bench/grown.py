"""Large traces, made of small ones the same way every time.

python -m tests.bench.grown kineto|nsys PATH EVENTS, or ranks|plain-ranks FOLDER COUNT MEBIBYTES SOURCE; prints how
many it wrote.
"""

import gzip
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile

STEPS = 10
LAYERS = 100
CORRELATIONS = 1_000_000
"""More than one repetition has."""

NUMBERS = re.compile(rb'("ts": |"id": |"correlation": |"External id": |"Profiler Event Index": |ProfilerStep#)(\d+)')
"""In an event of a real trace: those that must not be the same in its repetition."""

EVENT_END = re.compile(rb"(?<=\}),\s*(?=\{\s*\"(?:ph|name)\")")


def kineto(path: Path, events: int) -> int:
    """Write a Kineto trace of at least so many events: a modelled loop, recorded once and repeated. The count."""
    file = KinetoFile()
    run = Loop(steps=STEPS, layers=LAYERS).record(file, 1)
    template, values, shifts = _template(file.events, run.now - run.marks[0])
    repetitions = -(-events // len(file.events))
    with path.open("wb") as out:
        out.write(b'{"schemaVersion": 1, "baseTimeNanoseconds": 1767189312000000000,')
        out.write(b'"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [\n')
        for repetition in range(repetitions):
            out.write(b",\n" if repetition else b"")
            out.write(template % tuple((values + repetition * shifts).tolist()))
        out.write(b"]}\n")
    return repetitions * len(file.events)


def _template(events: list[dict[str, Any]], period_ns: int) -> tuple[bytes, Any, Any]:
    """The events' text with gaps for numbers, the first repetition's numbers, and what each later one adds."""
    texts, values, shifts = [], [], []
    period_us = -(-period_ns // 1000)
    for event in events:
        step = re.fullmatch(r"ProfilerStep#(\d+)", event["name"])
        whole, fraction = divmod(round(event["ts"] * 1000), 1000)
        name = json.dumps(event["name"]).replace("%", "%%") if step is None else '"ProfilerStep#%d"'
        head = f'{{"ph": "X", "cat": "{event["cat"]}", "name": {name}, "pid": {event["pid"]}, "tid": {event["tid"]}, '
        arguments = json.dumps(event["args"])
        texts.append(head + f'"ts": %d.{fraction:03d}, "dur": {event["dur"]}, "args": {arguments}}}')
        if step is not None:
            values.append(int(step[1]))
            shifts.append(STEPS)
        values.append(whole)
        shifts.append(period_us)
        if "correlation" in event["args"]:
            texts[-1] = re.sub(r'"correlation": \d+', '"correlation": %d', texts[-1])
            values.append(event["args"]["correlation"])
            shifts.append(CORRELATIONS)
    return ",\n".join(texts).encode(), np.array(values), np.array(shifts)


def nsys(path: Path, events: int) -> int:
    """Write an nsys export of at least so many device operations and calls, as `kineto` does. Their count."""
    file = NsysFile(version="2025.3.1.90")
    run = Loop(steps=STEPS, layers=LAYERS).record(file, 1)
    period_ns = run.now - run.marks[0] + 1_000
    file.write(path)
    mine = [table for table in file.rows if table.startswith("CUPTI") or table in ("NVTX_EVENTS", "OSRT_API")]
    once = sum(len(file.rows[table]) for table in mine if table.startswith("CUPTI"))
    repetitions = -(-events // once)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table in mine:
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            added = {"start": period_ns, "end": period_ns, "correlationId": CORRELATIONS}
            listed = ", ".join(
                f'"{name}" + {added.get(name, 0)} * number' if name in added else f'"{name}"' for name in columns
            )
            connection.execute(
                f"WITH RECURSIVE repetition(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM repetition "
                f"WHERE number < {repetitions - 1}) INSERT INTO {table} SELECT {listed} FROM repetition, {table} "
                f"WHERE {table}.rowid <= {len(file.rows[table])} AND {repetitions} > 1"
            )
    connection.close()
    return repetitions * once


def ranks(source: Path, folder: Path, count: int, mebibytes: int) -> list[Path]:
    """A real Kineto trace of rank 3 of 8 as so many ranks, each of that size before gzip."""
    paths = [folder / f"rank{rank}.json.gz" for rank in range(count)]
    for path, text in zip(paths, _texts(source, count, mebibytes), strict=True):
        path.write_bytes(gzip.compress(text, 1))
    return paths


def plain_ranks(source: Path, folder: Path, count: int, mebibytes: int) -> list[Path]:
    """The same without gzip: each file is of that size."""
    paths = [folder / f"rank{rank}.json" for rank in range(count)]
    for path, text in zip(paths, _texts(source, count, mebibytes), strict=True):
        path.write_bytes(text)
    return paths


def _texts(source: Path, count: int, mebibytes: int) -> Iterator[bytes]:
    """The trace under each rank's number: after its end its beginning follows again."""
    text = gzip.decompress(source.read_bytes())
    begin, end = text.index(b'"traceEvents": [') + len(b'"traceEvents": ['), text.rindex(b"]")
    again = _beginning_again(EVENT_END.split(text[begin:end]), (mebibytes << 20) - len(text))
    longer = b"".join([text[:end].rstrip(), b",\n", b",\n".join(again), text[end:]])
    longer = longer.replace(b'"world_size": 8', b'"world_size": %d' % count, 1)
    for rank in range(count):
        yield longer.replace(b'"rank": 3', b'"rank": %d' % rank, 1)


def _beginning_again(events: list[bytes], size: int) -> list[bytes]:
    """The events that began first, as much text as is asked for, with times and numbers that continue the trace's."""
    found = [re.search(rb'"ts": (\d+)', event) for event in events]
    timed = sorted(
        (int(match[1]), place) for place, match in enumerate(found) if match and b'"ph": "M"' not in match.string
    )
    period = timed[-1][0] - timed[0][0] + 1_000
    chosen = []
    for _, place in timed:
        chosen.append(place)
        size -= len(events[place]) + 5
        if size <= 0:
            break
    steps = len(re.findall(rb'"ProfilerStep#', b"".join(events)))
    added = {b'"ts": ': period, b"ProfilerStep#": steps}
    return [
        NUMBERS.sub(
            lambda match: match[1] + b"%d" % (int(match[2]) + added.get(match[1], 10 * CORRELATIONS)), events[place]
        )
        for place in sorted(chosen)
    ]


def main() -> None:
    kind, path, *how = sys.argv[1:]
    if kind in ("ranks", "plain-ranks"):
        count, mebibytes, source = how
        write = {"ranks": ranks, "plain-ranks": plain_ranks}[kind]
        written = len(write(Path(source), Path(path), int(count), int(mebibytes)))
    else:
        written = {"kineto": kineto, "nsys": nsys}[kind](Path(path), int(how[0]))
    sys.stdout.write(f"{written}\n")


if __name__ == "__main__":
    main()
