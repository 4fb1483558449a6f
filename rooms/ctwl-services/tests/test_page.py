"""The service's page in a real browser: the page that needs no server (test_web_page.py), and what a service adds."""

from __future__ import annotations

import io
import pydoc_data.topics
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from marked_words import marked_text
from page_fixtures import PATIENCE, READ, read
from reportlab.pdfgen import canvas
from running_service import serving

from ctwl_decoder import Decoder
from ctwl_decoder.report.html import html_report
from ctwl_decoder.words import say
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_services.serve.limits import Limits

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
from chromium import CHROMIUM  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

HUMAN = pydoc_data.topics.topics["exceptions"][:900]
LIMITS = Limits(characters=1500, body=16 << 10)
WHOLE = "Read it with the language model too"


@contextmanager
def served(proxy: Proxy) -> Iterator[str]:
    with serving(proxy, **LIMITS.model_dump()) as client:
        yield f"{client.base_url}/"


@pytest.fixture(scope="module")
def url(small: Proxy) -> Iterator[str]:
    """Of a service whose profile the page cannot read by itself."""
    with served(small) as found:
        yield found


@pytest.fixture(scope="module")
def public_url() -> Iterator[str]:
    """Of a service whose profile the page reads by ranks."""
    with served(open_proxy("org.ctwl.smollm2-135m.1")) as found:
        yield found


@pytest.fixture
def page(opened: Callable[[str], sync_api.Page], url: str) -> sync_api.Page:
    return opened(url)


def test_the_model_reads_what_the_page_has_read(opened: Callable[[str], sync_api.Page], public_url: str) -> None:
    """First the page by itself, then the service; each says so in the details."""
    page = opened(public_url)
    page.get_by_role("button", name="Show a text by a person").click()
    read(page)
    whole = page.get_by_role("button", name=WHOLE)
    whole.wait_for()
    assert page.locator("#expert").text_content().count("light-") == 1
    assert say("means-quick") in page.locator("#means").inner_text()
    whole.click()
    sync_api.expect(whole).to_be_hidden(timeout=PATIENCE)
    sync_api.expect(page.locator("#verdict")).to_have_text(say("none"))
    assert "light-" not in page.locator("#expert").text_content()
    assert say("means-quick") not in page.locator("#means").inner_text()


def test_a_text_too_long_for_the_service_is_still_read(opened: Callable[[str], sync_api.Page], public_url: str) -> None:
    page = opened(public_url)
    read(page, HUMAN * 2)
    page.get_by_role("button", name=WHOLE).click()
    sync_api.expect(page.get_by_role("status")).to_contain_text("(input-too-large)")
    assert page.locator("#result").is_visible()


@pytest.fixture(scope="module")
def marked(small: Proxy) -> str:
    return marked_text(small, 77, 130, 3)


def test_a_profile_that_the_page_cannot_read_is_read_by_the_service(page: sync_api.Page, marked: str) -> None:
    read(page, f"{HUMAN[:300]}\n{marked}\n")
    sync_api.expect(page.locator("#verdict")).to_have_text(say("found-part"))
    (passage,) = page.locator("mark").all_text_contents()
    assert len(passage) > 400 and passage[20:-20] in marked
    assert page.get_by_role("button", name=WHOLE).is_hidden()
    assert page.locator("#examples button").count() == 0  # they are marked under another profile
    read(page, HUMAN)
    sync_api.expect(page.locator("#verdict")).to_have_text(say("none"))
    read(page, "Hello.")
    sync_api.expect(page.locator("#verdict")).to_have_text(say("short"))


def test_a_report_fits_a_phone(browser: sync_api.Browser, small: Proxy, marked: str) -> None:
    context = browser.new_context(viewport={"width": 380, "height": 700})
    page = context.new_page()
    page.set_content(html_report(Decoder(small).analyse(marked)))
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


def test_the_service_opens_a_pdf_for_the_page(page: sync_api.Page, marked: str) -> None:
    """It is sent when the button is pressed, and not before."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url.rpartition("/v1/")[2]))
    lines = textwrap.wrap(marked, 80)
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
    read(page)
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


def test_the_page_says_what_is_wrong_with_a_text(page: sync_api.Page) -> None:
    read(page, "a" * 1501)
    sync_api.expect(page.get_by_role("status")).to_contain_text("At most 1,500 characters")
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
