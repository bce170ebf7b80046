"""Debian's Chromium without a window, asked through its own protocol (DevTools) on loopback."""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

ALONE = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PATIENCE_S = 60.0


class Tab:
    """One page of the browser. `events` are what it told unasked, such as errors of its console and what it loads."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.events: list[dict[str, Any]] = []

    async def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            said = await self._heard()
            if said.get("id") == self._number:
                assert "error" not in said, said
                return dict(said["result"])

    async def until(self, event: str) -> None:
        while (await self._heard()).get("method") != event:
            pass

    async def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        found = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def _heard(self) -> dict[str, Any]:
        said = json.loads((await self._socket.receive(PATIENCE_S)).data)
        assert isinstance(said, dict)
        if "method" in said:
            self.events.append(said)
        return said


@asynccontextmanager
async def tab() -> AsyncIterator[Tab]:
    """An empty page of a browser of its own, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mfu-browser-", ignore_cleanup_errors=True) as profile:
        port_file = Path(profile) / "DevToolsActivePort"
        command = ["chromium", *ALONE, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        browser = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not port_file.exists() or "\n" not in port_file.read_text():
                    assert browser.returncode is None, "Chromium ended before it listened"
                    await asyncio.sleep(0.05)
            port = port_file.read_text().split()[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [one for one in await answer.json() if one["type"] == "page"]
                async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Tab(socket)
        finally:
            browser.terminate()
            await browser.wait()
