"""Looked at in a real browser: it loads nothing, fits the window, is read in light and dark, and draws what it says."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.page import html_page
from tests.browser.chromium import tab
from tests.cluster.apt import apt_install

pytestmark = pytest.mark.browser

TRACES = Path("tests/data/traces")
PAIR = [TRACES / f"kineto/resnet50_workers{name}.json.gz" for name in ("0_a", "4_a")]
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (390, 1280)]
LEAST_CONTRAST = 4.5
"""Of text with its background (WCAG 2.2, success criterion 1.4.3)."""

LOOK = """(() => {
  const light = color => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = element => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!/rgba\\(.*, 0\\)/.test(color)) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = element => {
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const texts = [...document.querySelectorAll('body *')].filter(one =>
    [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));
  const bars = [...document.querySelectorAll('.bar')].map(bar => ({
    width: bar.getBoundingClientRect().width,
    parts: [...bar.children].map(one => one.getBoundingClientRect()).map(box => [box.width, box.height]),
  }));
  return {
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ground: light(ground(document.body)),
    least: Math.min(...texts.map(contrast)),
    faintest: texts.sort((a, b) => contrast(a) - contrast(b))[0].outerHTML.slice(0, 200),
    heading: document.querySelector('h1').innerText,
    bars,
    steps: [...document.querySelectorAll('.steps i')].map(one => one.getBoundingClientRect().height),
  };
})()"""


async def looked(url: str, scheme: str, width: int) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    async with tab() as browser:
        for domain in ("Page", "Log", "Network", "Runtime"):
            await browser.ask(f"{domain}.enable")
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        await browser.ask("Emulation.setEmulatedMedia", features=feature)
        await browser.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        await browser.ask("Page.navigate", url=url)
        await browser.until("Page.loadEventFired")
        return await browser.value(LOOK), browser.events


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    apt_install("chromium")
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(html_page(analyze([PAIR[0]], [PAIR[1]])), encoding="utf-8")
    return path


@pytest.mark.parametrize(("scheme", "width"), LOOKS, ids=lambda one: str(one))
def test_the_page_is_whole_and_legible_in_a_browser(scheme: str, width: int, page: Path) -> None:
    found, events = asyncio.run(looked(page.absolute().as_uri(), scheme, width))
    requested = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
    assert requested == [page.absolute().as_uri()]
    assert not [one for one in events if one["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert found["wider"] <= 0
    assert found["ground"] > 0.7 if scheme == "light" else found["ground"] < 0.1
    assert found["least"] >= LEAST_CONTRAST, found["faintest"]
    assert found["heading"]


def test_bars_are_as_long_as_their_steps(page: Path) -> None:
    found, _ = asyncio.run(looked(page.absolute().as_uri(), "light", 1280))
    drawn = [sum(width for width, _ in bar["parts"]) for bar in found["bars"]]
    assert drawn[1] / drawn[0] == pytest.approx(135.18 / 177.21, abs=0.01)
    assert drawn[0] == pytest.approx(found["bars"][0]["width"], rel=0.01)
    assert min(height for bar in found["bars"] for _, height in bar["parts"]) >= 8
    assert len(found["steps"]) == 6
    assert max(found["steps"]) > min(found["steps"]) > 0
