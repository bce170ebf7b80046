"""Making the fleet's objects quickly, and watching what becomes of the baselines."""

import asyncio
import hashlib
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from mfu_operator.api.group import GROUP, PLURAL, VERSION
from tests.bench.fleet import jobs

AT_ONCE = 48
GOOD = (200, 201, 409)

Rule = Callable[[int], Mapping[str, str]]
"""The spec.detection of each baseline, by its number."""


def create(url: str, context: ssl.SSLContext, numbers: range, detection: Rule) -> None:
    """Jobs, pods with a status, and baselines of these numbers; what exists stays."""
    asyncio.run(_create(url, context, numbers, detection))


async def _create(url: str, context: ssl.SSLContext, numbers: range, detection: Rule) -> None:
    connector = aiohttp.TCPConnector(limit=AT_ONCE, ssl=context)
    async with aiohttp.ClientSession(base_url=url, connector=connector, trust_env=False) as session:
        for index in range(jobs.NAMESPACES):
            name = f"team-{index}"
            await _send(session, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            await _send(
                session, "POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}}
            )
        waiting = iter(numbers)
        await asyncio.gather(*(_worker(session, waiting, detection) for _ in range(AT_ONCE)))


async def _worker(session: aiohttp.ClientSession, waiting: Iterable[int], detection: Rule) -> None:
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400))
    for number in waiting:
        where = f"namespaces/{jobs.namespace(number)}"
        await _send(session, "POST", f"/apis/batch/v1/{where}/jobs", jobs.job(number))
        await _send(session, "POST", f"/api/v1/{where}/pods", jobs.pod(number))
        pod = f"/api/v1/{where}/pods/{jobs.pod_name(number)}/status"
        await _send(session, "PATCH", pod, jobs.pod_status(number, started))
        tb = f"/apis/{GROUP}/{VERSION}/{where}/{PLURAL}"
        await _send(session, "POST", tb, jobs.baseline(number, detection(number)))


async def _send(session: aiohttp.ClientSession, method: str, path: str, body: Any) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    async with session.request(method, path, data=json.dumps(body), headers={"Content-Type": kind}) as answer:
        if answer.status not in GOOD:
            raise RuntimeError(f"{method} {path}: {answer.status}: {await answer.text()}")
        await answer.read()


@dataclass
class Seen:
    """One baseline's status as the watch told of it: a digest, its verdict, and when it first was Regressed."""

    digest: str = ""
    verdict: str = ""
    gated: bool = False
    regressed_s: float | None = None


@dataclass
class Watch:
    """Follows every baseline's status in a thread. `writes` counts events, `idle` those that changed no status."""

    url: str
    context: ssl.SSLContext
    seen: dict[str, Seen] = field(default_factory=dict)
    writes: int = 0
    idle: int = 0
    _stopping: bool = False

    def start(self) -> None:
        """Begin with what there is."""
        threading.Thread(target=lambda: asyncio.run(self._follow()), daemon=True).start()

    def stop(self) -> None:
        """End with the next event."""
        self._stopping = True

    def regressed(self, numbers: Iterable[int]) -> dict[int, float]:
        """When each of these baselines was first seen Regressed."""
        found = {number: self.seen.get(jobs.name(number)) for number in numbers}
        return {number: one.regressed_s for number, one in found.items() if one and one.regressed_s}

    def judged(self) -> int:
        """How many have a verdict in their status."""
        return sum(1 for one in list(self.seen.values()) if one.verdict)

    def at_work(self) -> int:
        """How many have a verdict that nothing gates: their runs are no longer starting."""
        return sum(1 for one in list(self.seen.values()) if one.verdict and not one.gated)

    def verdicts(self) -> Counter[str]:
        """How many have each verdict now."""
        return Counter(one.verdict for one in list(self.seen.values()))

    async def _follow(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self.context)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            base_url=self.url, connector=connector, timeout=timeout, trust_env=False, read_bufsize=2**22
        ) as session:
            path = f"/apis/{GROUP}/{VERSION}/{PLURAL}"
            version = ""
            while not self._stopping:
                query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
                try:
                    async with session.get(path, params=query) as answer:
                        version = await self._lines(answer, version)
                except aiohttp.ClientError:
                    await asyncio.sleep(1.0)

    async def _lines(self, answer: aiohttp.ClientResponse, version: str) -> str:
        """Take events until the server ends the watch; where to go on from."""
        if answer.status != 200:
            await asyncio.sleep(1.0)
            return version
        async for line in answer.content:
            event = json.loads(line)
            if event["type"] == "ERROR":
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            self._take(event["type"], event["object"])
            if self._stopping:
                break
        return version

    def _take(self, kind: str, body: dict[str, Any]) -> None:
        status = body.get("status") or {}
        one = self.seen.setdefault(body["metadata"]["name"], Seen())
        digest = hashlib.sha256(json.dumps(status, sort_keys=True).encode()).hexdigest()
        if kind == "MODIFIED":
            self.writes += 1
            self.idle += digest == one.digest
        one.digest = digest
        judgement = status.get("judgement") or {}
        one.verdict, one.gated = judgement.get("verdict", ""), bool(judgement.get("gates"))
        if one.verdict == "Regressed" and one.regressed_s is None:
            one.regressed_s = time.time()
