"""The page in a real browser: what people see and do."""

from __future__ import annotations

import os
import pydoc_data.topics
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uvicorn

from ctwl_decoder import Decoder
from ctwl_decoder.apps.serve.app import create_app
from ctwl_decoder.apps.serve.limits import Limits
from ctwl_decoder.apps.serve.server import configure
from ctwl_decoder.report.html import html_report
from ctwl_protocol import Profile, hashing
from ctwl_protocol.partition import kernel
from ctwl_protocol.proxy import Proxy, open_proxy

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HUMAN = pydoc_data.topics.topics["exceptions"][:900]
LIMITS = Limits(characters=1500, body=16 << 10)


@pytest.fixture(scope="module")
def proxy() -> Proxy:
    vanilla = open_proxy("org.ctwl.smollm2-135m.vanilla.1")
    document = {**vanilla.profile.model_dump(), "code_bits": 10, "name": "org.example.small.1"}
    return Proxy(Profile.model_validate(document), vanilla.tokenizer, None)


@pytest.fixture(scope="module")
def url(proxy: Proxy) -> Iterator[str]:
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


def marked(words: int, code: int, proxy: Proxy) -> str:
    """Words that all carry a code, as the profile without an LM reads it."""
    profile, rng = proxy.profile, np.random.default_rng(3)
    known = {i: proxy.tokenizer.decode([i]) for i in range(1000, 12_000)}
    pool = [
        i for i, word in known.items() if word[0] == " " and word[1:].isalpha() and word.isascii() and len(word) > 3
    ]
    ids = rng.choice(pool, profile.prefix_length).tolist()
    weights = proxy.weights(np.array([ids]))
    while len(ids) < words:
        context = tuple(ids[-profile.context_length :])
        colour_seed = hashing.colour_seed(profile.key, context)
        (colour,) = hashing.code_colours(colour_seed, np.array([code], dtype=np.uint32), profile.colours)
        seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, context), profile.colours)
        (inside,) = kernel.members(weights, seeds[[colour]], profile.sigma)
        ids.append(int(rng.choice([i for i in rng.choice(pool, 20) if inside[i]])))
    return proxy.tokenizer.decode(ids).strip()


def test_a_marked_passage_is_shown(page: sync_api.Page, proxy: Proxy) -> None:
    page.get_by_label("Text", exact=True).fill(f"{HUMAN[:300]}\n{marked(130, 77, proxy)}\n")
    page.get_by_role("button", name="Read the code").click()
    report = page.frame_locator("iframe")
    sync_api.expect(report.get_by_role("heading", level=1)).to_have_text("Watermark found in a passage: code 77")
    passage = report.locator("mark")
    assert len(passage.inner_text()) > 400
    assert passage.locator("i.f3").count() > 50
    assert report.locator("i[class^=a]").count() > 10  # outside of it chance is shown
    left, right = (report.locator(each).bounding_box() for each in ("rect.band", "svg"))
    assert left and right and right["x"] <= left["x"] and left["x"] + left["width"] <= right["x"] + right["width"]
    colours = [report.locator(f"i.{each}").first.evaluate("e => getComputedStyle(e).backgroundColor") for each in
               ("f3", "a1")]  # fmt: skip
    assert len(set(colours)) == 2


def test_a_report_fits_a_phone(browser: sync_api.Browser, url: str, proxy: Proxy) -> None:
    context = browser.new_context(viewport={"width": 380, "height": 700})
    page = context.new_page()
    page.set_content(html_report(Decoder(proxy).analyse(marked(130, 77, proxy))))
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    context.close()


def test_the_api_is_described(page: sync_api.Page, url: str) -> None:
    """By Swagger UI, whose scripts the service has itself: the page reports what it would load from elsewhere."""
    page.goto(f"{url}docs")
    page.get_by_text("/v1/decode").first.click()
    sync_api.expect(page.get_by_text("The client has too many requests under way.").first).to_be_visible()


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
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"a\x00b", "is not UTF-8 text"),
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
    sync_api.expect(page.get_by_role("status")).to_contain_text("5,401 characters, and at most 1,500")
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
