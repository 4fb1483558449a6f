"""The page that needs no server, in a real browser: what people see, and that it loads nothing."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from document_files import DOCUMENTS, FILES, docx, mail
from page_fixtures import PATIENCE, READ, read
from running_service import serving_files
from test_signposts import RECORDED, TRUSTED, URL

from ctwl_decoder import Decoder
from ctwl_decoder.words import say
from ctwl_protocol import get_profile
from ctwl_protocol.registry import bundled
from ctwl_services.page.build import build_page, read_words
from ctwl_services.page.bundle import web_folder

sync_api: Any = pytest.importorskip("playwright.sync_api", reason="needs playwright")
from chromium import CHROMIUM  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

PROFILE = "org.ctwl.smollm2-135m.1"
EXAMPLES = {name: (web_folder() / "page" / "examples" / f"{name}.txt").read_text("utf-8") for name in
            ("marked", "edited", "human")}  # fmt: skip
HOSTILE = (
    '<script>alert(1)</script><img src="https://example.com/x.png" onerror="alert(2)"><style>* { display: none }'
    '</style><iframe src="https://example.com/"></iframe><a href="javascript:alert(3)">x</a> {{ words }} </textarea> '
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page")
    (found / "index.html").write_text(build_page([get_profile(PROFILE)], bundled()), "utf-8")
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with serving_files(folder) as address:
        yield f"{address}/index.html"


@pytest.fixture
def page(opened: Callable[..., Any], folder: Path) -> Any:
    return opened((folder / "index.html").as_uri())


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder.open(PROFILE, registry=bundled())


def put(page: Any, expression: str) -> None:
    """Puts what a script says into the box, lone surrogates too."""
    script = f"document.getElementById('text').value = {expression}"
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": script})


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 70))


@pytest.mark.parametrize(
    "text",
    [EXAMPLES["human"], EXAMPLES["edited"], wrapped(EXAMPLES["marked"]), "\u201cCaf\u00e9\u201d \U0001f600 " * 40],
)
def test_the_p_value_is_the_decoders_to_nine_digits(page: Any, decoder: Decoder, text: str) -> None:
    report = decoder.decode(text, score="light")
    result = read(page, text)
    result.wait_for()
    assert float(result.get_attribute("data-p")) == pytest.approx(report.p_value, rel=1e-9)
    marks = [mark.text_content() for mark in page.locator("mark").all()]
    assert marks == [text[span.start : span.end] for span in report.spans]


def test_a_verdict_about_registered_marks_comes_before_the_whole_one(page: Any) -> None:
    """Registered codes are few, so they are searched first; a registered mark needs no more."""
    marked = f"{EXAMPLES['marked']} {EXAMPLES['human']}"
    human = " ".join(EXAMPLES["human"].split() * 3)
    for text in (marked, human):
        whole = read(page, " ".join(text.split()[:400]))
        page.locator("#result:not([hidden])").wait_for()
        whole.wait_for()


def test_a_marked_text_gets_two_sentences_and_its_passage(page: Any) -> None:
    read(page, EXAMPLES["marked"]).wait_for()
    assert page.locator("#verdict").text_content() == say("found-whole")
    says, means = page.locator("#says").text_content(), page.locator("#means").text_content()
    assert "Example Forty-Two" in says
    assert "fewer than one in a " in says
    assert say("forgeable") in means
    lay = page.locator("#verdict, #says, #means").all_text_contents()
    assert not re.search("nonce|record|beacon|code|p-value", " ".join(lay), re.I)
    assert page.locator("#passages").is_visible()
    assert page.locator("#asks details").count() == 0  # the registry names no detector
    assert not page.locator("#expert").is_visible()
    page.get_by_text("Details for experts").click()
    assert "nonce 2" in page.locator("#expert").inner_text()


def test_without_a_finding_nothing_is_coloured(page: Any) -> None:
    page.get_by_role("button", name="Show a text by a person").click()
    read(page).wait_for()
    assert page.locator("#verdict").text_content() == say("none")
    assert say("no-proof") in page.locator("#means").text_content()
    assert page.locator("mark").count() == 0
    assert not page.locator("#passages").is_visible()
    assert not page.locator("svg").is_visible()
    page.get_by_text("Details for experts").click()
    assert "It always looks like something" in page.locator("#expert").inner_text()
    assert page.locator("svg").is_visible()


def test_hostile_text_is_shown_as_text(page: Any) -> None:
    """That nothing is loaded, run or complained of, the fixture says."""
    read(page, HOSTILE + EXAMPLES["marked"] + HOSTILE).wait_for()
    assert page.locator("#verdict").text_content().startswith(say("found-whole"))
    assert page.locator("#passages").text_content().startswith(HOSTILE)
    assert page.locator("#passages :not(mark)").count() == 0


def test_what_cannot_be_read_is_refused_with_its_code(page: Any, tmp_path: Path) -> None:
    for expression, code in [
        ("'a\\ud800b'.repeat(200)", "not-text"),
        ("'a' + '\\u0316'.repeat(300)", "not-text"),
        ("'a '.repeat(2 ** 19 + 1)", "input-too-large"),
    ]:
        put(page, expression)
        page.get_by_role("button", name=READ).click()
        sync_api.expect(page.get_by_role("status")).to_contain_text(f"({code})", timeout=PATIENCE)
        assert page.locator("#result").is_hidden()
    for data, code in [
        (b"\xff\xfe\x00", "not-text"),
        (b"a\x00b", "not-text"),
        (b"a " * 2**20, "input-too-large"),
        (b"\x89PNG\r\n\x1a\n", "not-opened"),
        (b"PK\x05\x06", "document-refused"),
    ]:
        (tmp_path / "odd.txt").write_bytes(data)
        page.locator("#file").set_input_files(tmp_path / "odd.txt")
        sync_api.expect(page.get_by_role("status")).to_contain_text(f"({code})")
    read(page, " https://example.com/a?b#c\n")
    sync_api.expect(page.get_by_role("status")).to_contain_text(
        "It is a link to a page, which is not opened here; open it in a browser"
    )
    read(page, "  ")
    sync_api.expect(page.get_by_role("status")).to_contain_text("Paste a text first")
    read(page, "Too short.").wait_for()
    assert page.locator("#verdict").text_content() == say("short")


def test_what_is_dropped_is_taken_or_named(page: Any, tmp_path: Path) -> None:
    """By the browser's own drag: a folder and a link come as people drop them."""
    (tmp_path / "folder").mkdir()
    for name in ("no type", "other.txt"):
        (tmp_path / name).write_text(f"Words of {name}.", "utf-8")
    box, status = page.get_by_label("Text", exact=True), page.get_by_role("status")
    protocol = page.context.new_cdp_session(page)

    def drop(place: Any, items: dict[str, str], *files: str) -> None:
        box.fill("Before.")
        corner = place.bounding_box()
        data = {
            "items": [{"mimeType": kind, "data": words} for kind, words in items.items()],
            "files": [str(tmp_path / name) for name in files],
            "dragOperationsMask": 1,
        }
        for kind in ("dragEnter", "dragOver", "drop"):
            event = {"type": kind, "x": corner["x"] + 9, "y": corner["y"] + 9, "data": data}
            protocol.send("Input.dispatchDragEvent", event)

    heading, link = page.locator("h1"), dict.fromkeys(["text/uri-list", "text/plain"], "https://example.com/a")
    drop(heading, {"text/plain": "Selected words.", "text/html": "<b>Selected</b> words."})
    sync_api.expect(box).to_have_value("Selected words.")
    drop(heading, {"text/html": "<b>Selected</b> words."})
    sync_api.expect(box).to_have_value("<b>Selected</b> words.")
    drop(heading, link)
    sync_api.expect(status).to_contain_text("It is a link to a page")
    drop(heading, {}, "folder")
    sync_api.expect(status).to_contain_text("If it is a folder, open the files in it. (input-unreadable)")
    drop(box, {}, "no type", "other.txt")
    sync_api.expect(box).to_have_value("Words of no type.")
    sync_api.expect(status).to_contain_text("One file is read at a time")
    drop(box, link)
    sync_api.expect(box).to_have_value(re.compile("https://example.com/a"))
    box.fill("%PDF-1.7\n1 0 obj")
    page.get_by_role("button", name=READ).click()
    sync_api.expect(status).to_contain_text("It is a PDF")


def test_words_of_files_are_read_and_no_tags(page: Any, tmp_path: Path) -> None:
    text = EXAMPLES["marked"].strip()
    box, status = page.get_by_label("Text", exact=True), page.get_by_role("status")
    letter = message_from_bytes(mail(text, "base64"), policy=default)
    letter.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="more.pdf")
    kinds = ("letter.txt", "letter.docx", "letter.odt", "letter.epub", "letter.html")
    files = {name: (FILES[name], DOCUMENTS[name]["words"]) for name in kinds}
    files["letter.eml"] = (letter.as_bytes(), text)
    for name, (data, words) in files.items():
        (tmp_path / name).write_bytes(data)
        box.fill("")
        page.locator("#file").set_input_files(tmp_path / name)
        sync_api.expect(status).to_contain_text(f"The words of {name} are in the box")
        assert box.input_value() == words
    sync_api.expect(status).to_contain_text("more.pdf")
    read(page).wait_for()
    assert page.locator("#verdict").text_content() == say("found-whole")


def test_a_container_that_is_pasted_is_opened_or_named(page: Any) -> None:
    """That base64 has no watermark is never said."""
    text = EXAMPLES["marked"].strip()
    for pasted in (mail(text, "base64").decode(), base64.encodebytes(docx(text)).decode()):
        read(page, pasted).wait_for()
        assert "What you pasted was" in page.locator("#packed").text_content()
        assert page.locator("#verdict").text_content() == say("found-whole")
    read(page, base64.encodebytes(b"%PDF-1.7" + bytes(200)).decode())
    sync_api.expect(page.get_by_role("status")).to_contain_text("It is a PDF, which is not opened here; copy its words")
    assert page.locator("#result").is_hidden()


def test_a_reading_can_be_stopped_and_begun_again(page: Any) -> None:
    read(page, EXAMPLES["human"] * 20)
    page.get_by_role("button", name="Stop reading").click()
    sync_api.expect(page.get_by_role("status")).to_contain_text("Stopped")
    sync_api.expect(page.get_by_role("button", name=READ)).to_be_enabled(timeout=PATIENCE)
    read(page, EXAMPLES["marked"]).wait_for()
    assert page.locator("#verdict").text_content() == say("found-whole")


def test_it_works_from_a_web_server_and_fits_a_phone(opened: Callable[..., Any], server: str) -> None:
    page = opened(server, viewport={"width": 360, "height": 700})
    read(page, EXAMPLES["edited"]).wait_for()
    page.get_by_text("Details for experts").click()
    widths = [page.locator(each).bounding_box() for each in ("#expert", "#passages", "textarea", "svg")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in widths)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_is_used_without_a_mouse(page: Any) -> None:
    page.get_by_label("Text", exact=True).fill(EXAMPLES["edited"])
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#result:not([hidden]):not([data-early])").wait_for()
    sync_api.expect(page.locator("#verdict")).to_be_focused()
    page.keyboard.press("Tab")
    sync_api.expect(page.get_by_role("region", name="Where it was found")).to_be_focused()  # to be scrolled by keys
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#expert").is_visible()


@pytest.mark.parametrize("clipboard", [True, False])
def test_where_a_signpost_leads_nothing_is_sent_and_the_words_are_shown_before_they_are_copied(
    opened: Callable[..., Any], tmp_path: Path, clipboard: bool
) -> None:
    """That nothing is asked for but the page, the fixture says."""
    (tmp_path / "index.html").write_text(build_page([get_profile(PROFILE)], TRUSTED), "utf-8")
    page = opened((tmp_path / "index.html").as_uri(), permissions=["clipboard-read", "clipboard-write"])
    if not clipboard:
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    text = f"{EXAMPLES['human'][:600]}\n\n{RECORDED.read_text('utf-8')}"
    read(page, text).wait_for()
    (passage,) = page.locator("#passages mark").all_text_contents()
    page.get_by_text("Ask the detector of Seven Hundred about passage 1").click()
    asked = page.locator("#asks details")
    assert f"to {URL}" in asked.inner_text() and "SynthID-Text" in asked.inner_text()
    assert asked.get_by_role("region", name="What would be sent").text_content() == passage != text
    link = asked.locator("a")
    assert link.is_hidden() and link.get_attribute("href") is None
    asked.get_by_role("button", name="I agree").click()
    sync_api.expect(link).to_be_focused()
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (URL, "noopener noreferrer")
    if clipboard:
        assert page.evaluate("navigator.clipboard.readText()") == passage
    told = "The words are copied" if clipboard else "did not let the words be copied"
    assert told in asked.get_by_role("status").inner_text()


def test_all_words_are_in_the_file(opened: Callable[..., Any], tmp_path: Path) -> None:
    """With every word replaced, nothing else is left to read but names, numbers and the text."""
    words = {name: "¶ " + " ".join(re.findall(r"\{\w+\}", text)) for name, text in read_words().items()}
    words["language"] = "en"
    (tmp_path / "index.html").write_text(build_page([get_profile(PROFILE)], bundled(), words), "utf-8")
    browser_page = opened((tmp_path / "index.html").as_uri(), button="¶")
    browser_page.locator("#examples button").first.click()
    browser_page.locator("#read").click()
    browser_page.locator("#result:not([hidden]):not([data-early])").wait_for()
    browser_page.locator("summary").click()
    shown = browser_page.locator("h1, h2, h3, label, button, dt, summary, #message, #advice, #means").all_inner_texts()
    assert [text for text in shown if re.search(r"[A-Za-z]{2}", text)] == []
