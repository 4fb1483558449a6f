"""The service's page in a real browser: the page that needs no server (test_web_page.py), and what a service adds."""

from __future__ import annotations

import io
import os
import pydoc_data.topics
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from reportlab.pdfgen import canvas
from running_service import serving

from ctwl_decoder import Decoder
from ctwl_decoder.report.html import html_report
from ctwl_decoder.words import say
from ctwl_protocol import Profile, hashing
from ctwl_protocol.partition.reference import members
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_services.serve.limits import Limits

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
from chromium import CHROMIUM, QUIET  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

HUMAN = pydoc_data.topics.topics["exceptions"][:900]
LIMITS = Limits(characters=1500, body=16 << 10)
READ, WHOLE = "Look for a watermark", "Read it with the language model too"
PATIENCE = 120_000  # milliseconds: the machines of tests may be busy


@pytest.fixture(scope="module")
def proxy() -> Proxy:
    vanilla = open_proxy("org.ctwl.smollm2-135m.vanilla.1")
    document = {**vanilla.profile.model_dump(), "code_bits": 10, "name": "org.example.small.1"}
    return Proxy(Profile.model_validate(document), vanilla.tokenizer)


@contextmanager
def served(proxy: Proxy) -> Iterator[str]:
    with serving(proxy, **LIMITS.model_dump()) as client:
        yield f"{client.base_url}/"


@pytest.fixture(scope="module")
def url(proxy: Proxy) -> Iterator[str]:
    """Of a service whose profile the page cannot read by itself."""
    with served(proxy) as found:
        yield found


@pytest.fixture(scope="module")
def public_url() -> Iterator[str]:
    """Of a service whose profile the page reads by ranks."""
    with served(open_proxy("org.ctwl.smollm2-135m.1")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield found
        found.close()


@pytest.fixture
def opened(browser: sync_api.Browser) -> Iterator[Callable[[str], sync_api.Page]]:
    """Opens a service's page, which must not complain in the console, and may ask its own service alone."""
    contexts, asked, complaints = [], [], []

    def go(address: str) -> sync_api.Page:
        contexts.append(browser.new_context())
        found = contexts[-1].new_page()
        found.set_default_timeout(PATIENCE)
        found.on("request", lambda request: asked.append(request.url.removeprefix(address)))
        found.on("console", lambda message: complaints.append(message.text))
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.goto(address)
        sync_api.expect(found.get_by_role("button", name=READ)).to_be_enabled(timeout=PATIENCE)
        return found

    yield go
    for context in contexts:
        context.close()
    assert [each for each in complaints if "status of 4" not in each and "ERR_FAILED" not in each] == []
    assert {each for each in asked if not each.startswith("blob:")} <= {"", "v1/decode", "v1/words"}


@pytest.fixture
def page(opened: Callable[[str], sync_api.Page], url: str) -> sync_api.Page:
    return opened(url)


def read(page: sync_api.Page, text: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name=READ).click()


def test_the_model_reads_what_the_page_has_read(opened: Callable[[str], sync_api.Page], public_url: str) -> None:
    """First the page by itself, then the service; each says so in the details."""
    page = opened(public_url)
    page.get_by_role("button", name="Show a text by a person").click()
    page.get_by_role("button", name=READ).click()
    whole = page.get_by_role("button", name=WHOLE)
    whole.wait_for()
    assert page.locator("#expert").text_content().count("light-") == 1
    assert say("means-quick") in page.locator("#means").inner_text()
    if "CTWL_SCREENSHOTS" in os.environ:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{os.environ['CTWL_SCREENSHOTS']}/{scheme}.png", full_page=True)
    whole.click()
    sync_api.expect(whole).to_be_hidden(timeout=PATIENCE)
    sync_api.expect(page.locator("#verdict")).to_have_text(say("none"))
    assert "light-" not in page.locator("#expert").text_content()
    assert say("means-quick") not in page.locator("#means").inner_text()


def test_a_text_too_long_for_the_service_is_still_read(opened: Callable[[str], sync_api.Page], public_url: str) -> None:
    page = opened(public_url)
    read(page, HUMAN * 2)
    page.get_by_role("button", name=WHOLE).click()
    sync_api.expect(page.get_by_role("status")).to_contain_text("At most 1,500 characters")
    sync_api.expect(page.get_by_role("status")).to_contain_text("(input-too-large)")
    assert page.locator("#result").is_visible()


def marked(words: int, code: int, proxy: Proxy) -> str:
    """Words that all carry a code, as the profile without an LM reads it."""
    profile, rng = proxy.profile, np.random.default_rng(3)
    known = {i: proxy.tokenizer.decode([i]) for i in range(1000, 12_000)}
    pool = [
        i for i, word in known.items() if word[0] == " " and word[1:].isalpha() and word.isascii() and len(word) > 3
    ]
    ids = rng.choice(pool, profile.prefix_length).tolist()
    weights = np.ones((1, profile.tokenizer.vocabulary), dtype=np.uint32)
    weights[:, list(profile.tokenizer.special)] = 0
    while len(ids) < words:
        context = tuple(ids[-profile.context_length :])
        colour_seed = hashing.colour_seed(profile.key, context)
        (colour,) = hashing.code_colours(colour_seed, np.array([code], dtype=np.uint32), profile.colours)
        seeds = hashing.permutation_seeds(hashing.partition_seed(profile.key, context), profile.colours)
        (inside,) = members(weights, seeds[[colour]], profile.sigma)
        ids.append(int(rng.choice([i for i in rng.choice(pool, 20) if inside[i]])))
    return proxy.tokenizer.decode(ids).strip()


def test_a_profile_that_the_page_cannot_read_is_read_by_the_service(page: sync_api.Page, proxy: Proxy) -> None:
    code = marked(130, 77, proxy)
    read(page, f"{HUMAN[:300]}\n{code}\n")
    sync_api.expect(page.locator("#verdict")).to_have_text(say("found-part"))
    (passage,) = page.locator("mark").all_text_contents()
    assert len(passage) > 400 and passage[20:-20] in code
    assert page.get_by_role("button", name=WHOLE).is_hidden()
    assert page.locator("#examples button").count() == 0  # they are marked under another profile
    read(page, HUMAN)
    sync_api.expect(page.locator("#verdict")).to_have_text(say("none"))
    read(page, "Hello.")
    sync_api.expect(page.locator("#verdict")).to_have_text(say("short"))


def test_a_report_fits_a_phone(browser: sync_api.Browser, url: str, proxy: Proxy) -> None:
    context = browser.new_context(viewport={"width": 380, "height": 700})
    page = context.new_page()
    page.set_content(html_report(Decoder(proxy).analyse(marked(130, 77, proxy))))
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    context.close()


def test_the_api_is_described(browser: sync_api.Browser, url: str) -> None:
    """By Swagger UI, whose scripts the service has itself: the page reports what it would load from elsewhere."""
    complaints: list[str] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(f"{url}docs")
        page.get_by_text("/v1/decode").first.click()
        sync_api.expect(page.get_by_text("The client has too many requests under way.").first).to_be_visible()
    assert complaints == []


def pdf(*said: str) -> bytes:
    """A PDF of these lines."""
    found = io.BytesIO()
    page = canvas.Canvas(found)
    for number, line in enumerate(said):
        page.drawString(72, 720 - 14 * number, line)
    page.save()
    return found.getvalue()


def test_the_service_opens_a_pdf_for_the_page(page: sync_api.Page, proxy: Proxy) -> None:
    """It is sent when the button is pressed, and not before."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url.rpartition("/v1/")[2]))
    lines = textwrap.wrap(marked(130, 77, proxy), 80)
    chosen = page.locator("#file")
    chosen.set_input_files({"name": "letter.pdf", "mimeType": "application/pdf", "buffer": pdf(*lines)})
    button = page.get_by_role("button", name="Let the service open it")
    button.wait_for()
    assert sent == []
    button.click()
    box = page.get_by_label("Text", exact=True)
    sync_api.expect(box).to_have_value(re.compile(re.escape(lines[0][:40])), timeout=PATIENCE)
    assert box.input_value().split() == " ".join(lines).split()
    assert button.is_hidden() and sent == ["words"]
    page.get_by_role("button", name=READ).click()
    sync_api.expect(page.locator("#verdict")).to_have_text(say("found-whole"), timeout=PATIENCE)


@pytest.mark.parametrize(
    ("data", "says"), [(b"%PDF-1.7\n1 0 obj\n%%EOF", "(document-refused)"), (pdf(), "(document-refused)"),
                       (pdf("A letter") + bytes(LIMITS.body), "(file-too-large)")]
)  # fmt: skip
def test_a_pdf_that_the_service_cannot_open_is_said_in_words(page: sync_api.Page, data: bytes, says: str) -> None:
    page.locator("#file").set_input_files({"name": "letter.pdf", "mimeType": "application/pdf", "buffer": data})
    page.get_by_role("button", name="Let the service open it").click()
    sync_api.expect(page.get_by_role("status")).to_contain_text(says, timeout=PATIENCE)
    sync_api.expect(page.get_by_role("button", name=READ)).to_be_enabled()


@pytest.mark.parametrize(("text", "words"), [("a" * 1501, "At most 1,500 characters"), ("  ", "Paste a text first")])
def test_the_page_says_what_is_wrong_with_a_text(page: sync_api.Page, text: str, words: str) -> None:
    read(page, text)
    sync_api.expect(page.get_by_role("status")).to_contain_text(words)
    assert page.locator("#result").is_hidden()


def test_a_service_that_cannot_be_reached_is_said_in_words(page: sync_api.Page) -> None:
    page.route("**/v1/decode", lambda route: route.abort())
    read(page, HUMAN)
    sync_api.expect(page.get_by_role("status")).to_contain_text("could not be reached")
    sync_api.expect(page.get_by_role("button", name=READ)).to_be_enabled()


def test_a_question_to_the_service_can_be_taken_back(page: sync_api.Page) -> None:
    page.route("**/v1/decode", lambda _: None)  # no answer
    read(page, HUMAN)
    page.get_by_role("button", name="Stop reading").click()
    sync_api.expect(page.get_by_role("status")).to_contain_text("Stopped")
    page.unroute("**/v1/decode")
    read(page, HUMAN)
    sync_api.expect(page.locator("#verdict")).to_have_text(say("none"))
