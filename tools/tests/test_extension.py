"""The browser extension: what is in it, and what people see of it in a real Chromium."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import extension
import pytest
from running_service import serving_files
from test_signposts import RECORDED, TRUSTED, URL

from ctwl_decoder import Decoder
from ctwl_decoder.words import say
from ctwl_protocol.profile import OFFLINE
from ctwl_protocol.registry import bundled
from ctwl_services.page.bundle import web_folder

pytest.importorskip("playwright.sync_api", reason="needs playwright")
from chromium import CHROMIUM, Browser, chromium_with
from firefox import FIREFOX, firefox_with

EXAMPLES = {name: (web_folder() / "page" / "examples" / f"{name}.txt").read_text("utf-8").strip() for name in
            ("marked", "human")}  # fmt: skip
NO_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def in_chromium(test: Any) -> Any:
    """A slow test that needs Chromium."""
    return NO_CHROMIUM(pytest.mark.slow(test))


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(each)}</p>\n" for each in text.split("\n\n"))


MENU = "".join(
    f'<li><a href="#">Item {i} of a menu that has long words in it, more than a label has</a></li>' for i in range(9)
)
ARTICLE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>News</title>
<style>.gone {{ display: none }} .unseen {{ visibility: hidden }} body {{ max-width: 40rem }}</style>
</head><body><nav><ul>{MENU}</ul></nav><ul>{MENU}</ul><h1>A headline</h1>
<main>{paragraphs(EXAMPLES["marked"]).replace("library", '<a href="#">lib<b>rary</b></a>', 2)}</main>
<p class="gone">{escape(EXAMPLES["human"])}</p><p class="unseen">{escape(EXAMPLES["human"])}</p>
<script>const words = "{"never read " * 100}";</script><ul>{MENU}</ul><aside>{paragraphs(EXAMPLES["human"])}</aside>
<footer>Footer</footer></body></html>"""
PAGES = {
    "article": ARTICLE,
    "human": f"<!doctype html><meta charset='utf-8'><h1>Essay</h1>{paragraphs(EXAMPLES['human'])}",
    "mixed": f"<!doctype html><meta charset='utf-8'><article>{paragraphs(EXAMPLES['human'])}</article>"
    f"<div id='part'>{paragraphs(EXAMPLES['marked'])}</div>",
    "field": f"<!doctype html><meta charset='utf-8'><textarea>{escape(EXAMPLES['marked'])}</textarea>",
    "signpost": f"<!doctype html><meta charset='utf-8'><h1>Essay</h1>{paragraphs(RECORDED.read_text('utf-8'))}",
    "empty": "<!doctype html><meta charset='utf-8'><img alt='' src='data:,'>",
}
MARKED = "[...CSS.highlights.get('ctwl-passage')].map(String).join('')"
"""What is coloured on a page."""


def test_the_zip_is_the_same_each_time_and_asks_for_nothing_but_the_tab() -> None:
    first, second = (extension.packed(extension.files()) for _ in range(2))
    assert first == second
    assert len(first) < 1_000_000
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        scripts = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".js")}
    assert manifest["permissions"] == ["activeTab", "scripting"]
    assert not {"host_permissions", "optional_permissions", "background", "content_scripts"} & set(manifest)
    assert len(manifest["description"]) <= 132  # a bound of Chrome's
    policy = manifest["content_security_policy"]["extension_pages"]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    for name, script in scripts.items():
        assert not re.search(
            r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|eval)\b *\(", script
        ), name


# In the browser.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    for name, page in PAGES.items():
        (folder / f"{name}.html").write_text(page, "utf-8")

    with serving_files(folder) as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("extension")
    assert extension.main(["--out", str(found)]) == 0
    return found


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    with chromium_with(folder) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, site: str) -> Iterator[Any]:
    pages = []

    def go(name: str) -> Any:
        pages.append(browser.context.new_page())
        pages[-1].goto(f"{site}/{name}.html")
        return pages[-1]

    yield go
    for page in pages:
        page.close()


@contextmanager
def pressed(browser: Browser, page: Any) -> Iterator[Any]:
    """The popup of the extension's button, when it has read the page."""
    popup = browser.press(page)
    popup.wait()
    yield popup
    popup.close()


def action(popup: Any, what: str) -> Any:
    tab = "chrome.tabs.query({ active: true, currentWindow: true })"
    return popup.evaluate(f"{tab}.then(([{{ id }}]) => chrome.action.get{what}({{ tabId: id }}))")


@in_chromium
def test_the_main_text_of_a_page_is_read_and_marked(browser: Browser, opened: Any) -> None:
    page = opened("article")
    with pressed(browser, page) as popup:
        assert popup.text("verdict") == say("found-whole")
        assert "Example Forty-Two" in popup.text("says")
        assert "main text of this page" in popup.text("source")
        assert action(popup, "BadgeText") == "1"
        assert action(popup, "Title") == popup.text("verdict")
        report = Decoder.open(OFFLINE, registry=bundled()).decode(EXAMPLES["marked"], score="light")
        assert float(popup.evaluate("document.getElementById('result').dataset.p")) == pytest.approx(
            report.p_value, rel=1e-9
        )
        assert popup.complaints() == []
        marked = page.evaluate(MARKED)
        assert marked == EXAMPLES["marked"].replace("\n\n", "")
        popup.click("clear")
        popup.wait_until("document.getElementById('clear').hidden")
        assert page.evaluate("CSS.highlights.size") == 0


@in_chromium
def test_a_selection_is_read_alone_and_the_main_text_if_asked_for(browser: Browser, opened: Any) -> None:
    page = opened("mixed")
    page.evaluate("getSelection().selectAllChildren(document.getElementById('part'))")
    with pressed(browser, page) as popup:
        assert popup.evaluate("document.documentElement.scrollWidth <= innerWidth && innerWidth <= 400")
        assert popup.evaluate("document.activeElement.id") == "verdict"
        assert popup.text("verdict") == say("found-whole")
        assert "text that you selected" in popup.text("source")
        popup.click("article")
        popup.wait_until("document.getElementById('source').innerText.includes('main text')")
        popup.wait()
        assert popup.text("verdict") == say("found-part")
        assert popup.text("article") == ""


@in_chromium
def test_words_in_a_field_are_read_and_not_coloured(browser: Browser, opened: Any) -> None:
    page = opened("field")
    page.locator("textarea").select_text()
    with pressed(browser, page) as popup:
        assert popup.text("verdict") == say("found-whole")
        popup.wait_until("document.getElementById('elsewhere').innerText.includes('stand in a field')")
        assert popup.text("show") == ""


@in_chromium
def test_without_a_finding_nothing_is_marked(browser: Browser, opened: Any) -> None:
    page = opened("human")
    with pressed(browser, page) as popup:
        assert popup.text("verdict") == say("none")
        assert say("no-proof") in popup.text("means")
        assert action(popup, "BadgeText") == "–"
        assert page.evaluate("CSS.highlights.size") == 0


@in_chromium
def test_a_page_without_words_and_one_that_is_closed_are_told(browser: Browser, opened: Any) -> None:
    with pressed(browser, opened("empty")) as popup:
        assert "no text to read" in popup.text("message")
    page = browser.context.new_page()
    page.goto("chrome://version")
    with pressed(browser, page) as popup:
        assert "lets no extension read this page" in popup.text("message")
    page.close()


@in_chromium
def test_what_is_not_seen_is_not_read_and_the_page_stays_as_it_was(opened: Any, folder: Path) -> None:
    page = opened("article")
    before = page.content()
    page.evaluate((folder / "content.js").read_text("utf-8"))
    text = page.evaluate("ctwl.collect(true).text")
    assert text == EXAMPLES["marked"]
    assert page.evaluate("(text) => ctwl.mark(text, [{ start: 2, end: 40 }, { start: 60, end: 70 }])", text)
    marked = page.evaluate(MARKED)
    assert marked == (text[2:40] + text[60:70]).replace("\n", "")
    assert page.content() == before


@in_chromium
def test_words_of_drawings_and_formulas_are_read(opened: Any, folder: Path) -> None:
    page, no = opened("empty"), "<title>no</title><desc>no</desc><defs><text>no</text></defs>"
    svg = (
        f"<svg>{no}<text y='20'>On <tspan>one</tspan>{no}</text><foreignObject width='9' height='9'>two</foreignObject>"
    )
    math = "<math><mi>no</mi><mtext>three</mtext><mn>0</mn></math><span aria-hidden='true'>no</span>"
    page.evaluate("(given) => (document.body.innerHTML = given)", f"{svg}</svg><p>{math}</p>")
    page.evaluate((folder / "content.js").read_text("utf-8"))
    assert page.evaluate("ctwl.collect(true).text").split() == ["On", "one", "two", "three"]


@in_chromium
def test_places_are_characters_however_deep_the_words_are(browser: Browser, opened: Any, folder: Path) -> None:
    page = opened("empty")
    page.evaluate(
        """() => {
            let inner = document.body;
            for (let i = 0; i < 500; i++) inner = inner.appendChild(document.createElement("div"));
            inner.textContent = "\\u{1f600} deep <b>words</b>";
        }"""
    )
    page.evaluate((folder / "content.js").read_text("utf-8"))
    text = page.evaluate("ctwl.collect(true).text")
    assert text == "\U0001f600 deep <b>words</b>"
    page.evaluate("(text) => ctwl.mark(text, [{ start: 2, end: 6 }])", text)
    assert page.evaluate("[...CSS.highlights.get('ctwl-passage')].map(String)") == ["deep"]


@in_chromium
def test_whom_to_ask_is_told_and_nothing_is_sent(browser: Browser, opened: Any, site: str, tmp_path: Path) -> None:
    for name, data in extension.files(registry=TRUSTED).items():
        (tmp_path / name).write_bytes(data)
    asked: list[str] = []
    browser.context.on("request", lambda request: asked.append(request.url))
    with pressed(Browser(browser.context, tmp_path), opened("signpost")) as popup:
        assert "Ask the detector of Seven Hundred about passage 1" in popup.text("asks")
        popup.evaluate("document.querySelector('#asks summary').click()")
        assert "nothing was sent there" in popup.text("asks") and "Open https" not in popup.text("asks")
        popup.evaluate("document.querySelector('#asks button').click()")
        popup.wait_until("!document.querySelector('#asks a').hidden")
        assert popup.evaluate("document.querySelector('#asks a').href") == URL
        assert popup.complaints() == []
    assert all(address.startswith(site) for address in asked), asked


@pytest.mark.skipif(FIREFOX is None, reason="no Firefox on this machine")
@pytest.mark.slow
def test_firefox_reads_a_page_and_marks_its_passage(site: str, tmp_path: Path) -> None:
    (tmp_path / "extension.zip").write_bytes(extension.packed(extension.files()))
    (tmp_path / "profile").mkdir()
    with firefox_with(tmp_path / "extension.zip", tmp_path / "profile") as browser:
        browser.go(f"{site}/article.html")
        assert browser.press() == ["1", say("found-whole")]
        marked = browser.evaluate(f"return {MARKED}")
        assert marked == EXAMPLES["marked"].replace("\n\n", "")
