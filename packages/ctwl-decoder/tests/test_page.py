"""The page in a real browser: what people see and do."""

from __future__ import annotations

import os
import pydoc_data.topics
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from ctwl_decoder.service.app import create_app
from ctwl_decoder.service.limits import Limits
from ctwl_decoder.service.server import configure
from ctwl_protocol import Profile
from ctwl_protocol.proxy import Proxy, open_proxy

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HUMAN = pydoc_data.topics.topics["exceptions"][:900]
LIMITS = Limits(characters=1500, body=16 << 10)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    vanilla = open_proxy("org.ctwl.smollm2-135m.vanilla.1")
    document = {**vanilla.profile.model_dump(), "code_bits": 10, "name": "org.example.small.1"}
    proxy = Proxy(Profile.model_validate(document), vanilla.tokenizer, None)
    server = uvicorn.Server(configure(create_app(proxy, LIMITS), LIMITS))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield found
        found.close()


@pytest.fixture
def page(browser: sync_api.Browser, url: str) -> Iterator[sync_api.Page]:
    """The page, which must not complain in the console."""
    context = browser.new_context()
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda message: complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.goto(url)
    yield found
    context.close()
    assert [each for each in complaints if "status of 4" not in each] == []


def test_a_pasted_text_gets_its_report(page: sync_api.Page) -> None:
    page.get_by_label("Text", exact=True).fill(HUMAN)
    assert page.locator("#count").inner_text() == "900 of at most 1,500 characters"
    page.get_by_role("button", name="Read the code").click()
    report = page.frame_locator("iframe")
    sync_api.expect(report.get_by_role("heading", level=1)).to_have_text("No watermark found")
    sync_api.expect(page.get_by_role("status")).to_have_text("Read. The report is below.")
    assert report.locator("body").evaluate("body => getComputedStyle(body).maxWidth") != "none"  # its style is allowed
    assert page.get_by_label("Text", exact=True).input_value() == HUMAN
    if "CTWL_SCREENSHOTS" in os.environ:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{os.environ['CTWL_SCREENSHOTS']}/{scheme}.png", full_page=True)


def test_the_keyboard_is_enough_and_a_second_text_works_too(page: sync_api.Page) -> None:
    for text, verdict in [("Hello.", "No verdict: the text is too short"), (HUMAN, "No watermark found")]:
        page.get_by_label("Text", exact=True).focus()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(text)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        heading = page.frame_locator("iframe").get_by_role("heading", level=1)
        sync_api.expect(heading).to_have_text(verdict)
        sync_api.expect(page.get_by_role("button", name="Read the code")).to_be_enabled()


def test_a_file_is_put_into_the_box(page: sync_api.Page, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text(HUMAN, encoding="utf-8")
    page.get_by_label("or a .txt file").set_input_files(tmp_path / "letter.txt")
    sync_api.expect(page.get_by_role("status")).to_have_text("letter.txt is in the box above.")
    page.get_by_role("button", name="Read the code").click()
    sync_api.expect(page.frame_locator("iframe").locator("h1")).to_have_text("No watermark found")


def test_a_file_is_dropped(page: sync_api.Page) -> None:
    page.evaluate(
        """text => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], "letter.txt"));
            for (const kind of ["dragover", "drop"])
                document.querySelector("textarea").dispatchEvent(
                    new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        HUMAN,
    )
    sync_api.expect(page.get_by_label("Text", exact=True)).to_have_value(HUMAN)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xfe\x00", "is no UTF-8 text"),
        (b"a\x00b", "is no UTF-8 text"),
        (b"a" * (17 << 10), "is larger than 16 KiB"),
    ],
)
def test_a_file_that_is_no_text_is_refused_in_words(
    page: sync_api.Page, tmp_path: Path, data: bytes, words: str
) -> None:
    (tmp_path / "odd.txt").write_bytes(data)
    page.get_by_label("or a .txt file").set_input_files(tmp_path / "odd.txt")
    sync_api.expect(page.get_by_role("status")).to_contain_text(words)


@pytest.mark.parametrize(("text", "words"), [("a" * 1501, "1,501 characters"), ("  ", "Paste a text first")])
def test_the_page_says_what_is_wrong_with_a_text(page: sync_api.Page, text: str, words: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Read the code").click()
    sync_api.expect(page.get_by_role("status")).to_contain_text(words)
    assert page.locator("iframe").is_hidden()


def test_what_only_the_service_notices_is_said_in_the_page_too(page: sync_api.Page) -> None:
    page.evaluate("text.value = 'a'.repeat(1400) + ' ' + '\\u4e00'.repeat(4000)")
    page.evaluate("form.target = frame.name; busy = true; form.submit()")  # past the page's own check
    sync_api.expect(page.get_by_role("status")).to_contain_text("5,401 characters and at most 1,500")
    assert page.locator("iframe").is_hidden()
    assert page.get_by_label("Text", exact=True).input_value().startswith("aaa")


def test_a_service_that_cannot_be_reached_is_said_in_words(browser: sync_api.Browser, url: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(url)
        page.get_by_label("Text", exact=True).fill(HUMAN)
        page.route("**/report", lambda route: route.abort())
        page.get_by_role("button", name="Read the code").click()
        sync_api.expect(page.get_by_role("status")).to_contain_text("could not be reached")
        sync_api.expect(page.get_by_role("button", name="Read the code")).to_be_enabled()


def test_it_works_without_javascript(browser: sync_api.Browser, url: str, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text(HUMAN, encoding="utf-8")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(url)
        page.get_by_label("Text", exact=True).fill(HUMAN)
        page.get_by_role("button", name="Read the code").click()
        sync_api.expect(page.locator("h1")).to_have_text("No watermark found")
        page.goto(url)
        page.get_by_label("or a .txt file").set_input_files(tmp_path / "letter.txt")
        page.get_by_role("button", name="Read the code").click()
        sync_api.expect(page.locator("h1")).to_have_text("No watermark found")
        page.goto(url)
        page.get_by_label("Text", exact=True).fill("a" * 1501)
        page.get_by_role("button", name="Read the code").click()
        sync_api.expect(page.get_by_role("alert")).to_contain_text("1,501 characters")
        page.get_by_role("link").click()
        sync_api.expect(page.get_by_role("button", name="Read the code")).to_be_visible()
