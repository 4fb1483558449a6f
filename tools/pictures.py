"""Take the pictures of the page, a report and the browser extension, in a real Chromium, of the page's own example.

python tools/pictures.py          # into docs/pictures/
"""

from __future__ import annotations

import base64
import html
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import extension
from chromium import CHROMIUM, QUIET, Browser, chromium_with
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from ctwl_decoder import Decoders
from ctwl_decoder.report.html import html_report
from ctwl_protocol import get_profile
from ctwl_protocol.profile import read_by_default
from ctwl_protocol.registry import bundled
from ctwl_services.page.build import build_page
from ctwl_services.page.bundle import web_folder

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
EXAMPLES = web_folder() / "page" / "examples"
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


STYLE = """
body { font: 17px/1.55 Georgia, serif; margin: 1.5rem 1rem; max-width: 34rem }
nav { font: 14px sans-serif }
nav a { margin-right: 1rem }
h1 { line-height: 1.2 }
"""


def article() -> str:
    """A page of a newspaper: a paragraph by a person, then marked ones."""
    human, marked = ((EXAMPLES / f"{name}.txt").read_text("utf-8").strip() for name in ("human", "marked"))
    paragraphs = "".join(f"<p>{html.escape(each)}</p>" for each in f"{human}\n\n{marked}".split("\n\n"))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>The library</title><style>{STYLE}</style><nav>"
        '<a href="#">Town</a><a href="#">Culture</a><a href="#">Sport</a></nav><h1>A library for everyone</h1>'
        f"<article>{paragraphs}</article></html>"
    )


@contextmanager
def page_read(**options: Any) -> Iterator[Page]:
    """The page with a verdict about its marked example."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "index.html"
        profiles = [get_profile(name) for name in read_by_default()]
        file.write_text(build_page(profiles, bundled()), "utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(**options)
        page.goto(file.as_uri())
        page.locator("#read:not([disabled])").wait_for()
        page.get_by_role("button", name="Show it after editing").click()
        page.locator("#result:not([hidden]):not([data-early])").wait_for()
        page.evaluate("document.activeElement.blur()")
        yield page
        browser.close()


def extension_read(browser: Browser, size: dict[str, int], width: int) -> tuple[bytes, bytes]:
    """The article with its passages marked, and what the popup shows, in a width: Chromium sizes popups itself."""
    page = browser.context.new_page()
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.emulate_media(reduced_motion="reduce")
    page.route("https://news.example/", lambda route: route.fulfill(body=article(), content_type="text/html"))
    page.goto("https://news.example/")
    popup = browser.press(page)
    popup.wait()
    popup.wait_until("!document.getElementById('show').hidden")
    popup.click("show")
    page.wait_for_function("scrollY > 0")
    marked, shown = page.screenshot(), popup.shown()
    popup.close()
    page.close()
    page = browser.context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(re.sub(r'<link rel="stylesheet" href="([\w.]+)">', _style, f"<!doctype html>{shown}"))
    pictures = marked, page.locator("html").screenshot()
    page.close()
    return pictures


def _style(found: re.Match[str]) -> str:
    folder = "page" if found[1] == "page.css" else "extension"
    return f"<style>{(web_folder() / folder / found[1]).read_text('utf-8')}</style>"


def side_by_side(browser: Browser, size: dict[str, int], style: str, pictures: tuple[bytes, bytes]) -> bytes:
    """Two pictures on one."""
    page = browser.context.new_page()
    page.set_viewport_size(size)  # type: ignore[arg-type]
    images = (f'<img src="data:image/png;base64,{base64.b64encode(each).decode()}">' for each in pictures)
    page.set_content(f"<style>body {{ margin: 0; background: #fff }} {style}</style>{''.join(images)}")
    found = page.screenshot()
    page.close()
    return found


ABOVE = "img + img { position: absolute; top: 0; right: 20px; border: 1px solid #999; box-shadow: 0 4px 18px #0006 }"
BESIDE = "img { border: 1px solid #bbb; margin: 8px; vertical-align: top }"


def written(path: Path, picture: bytes) -> None:
    """Write a picture in a palette, which takes a third of the bytes."""
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def page_picture(**options: Any) -> bytes:
    """The page down to the passages."""
    with page_read(**options) as page:
        end = page.evaluate("document.getElementById('details').getBoundingClientRect().top + scrollY")
        clip = {"x": 0, "y": 0, "width": options["viewport"]["width"], "height": end}
        return page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]


def report_picture(**options: Any) -> bytes:
    """The report that is passed on (``ctwl-decode --html``), down to its text."""
    text = (EXAMPLES / "edited.txt").read_text("utf-8")
    report = html_report(Decoders.open(registry=bundled()).analyse(text, score="light"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(**options)
        page.set_content(report)
        found = page.screenshot(full_page=True)
        browser.close()
    return found


def main(folder: Path = PICTURES) -> int:
    """Entry point; returns the exit status."""
    if CHROMIUM is None:
        print("SKIPPED: the pictures of the page, because there is no Chromium here")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    written(folder / "page.png", page_picture(viewport=WIDE))
    written(folder / "page-phone.png", page_picture(viewport=PHONE, color_scheme="dark"))
    written(folder / "report.png", report_picture(viewport=WIDE))
    written(folder / "report-phone.png", report_picture(viewport=PHONE, color_scheme="dark"))
    with tempfile.TemporaryDirectory() as unpacked:
        extension.main(["--out", unpacked])
        with chromium_with(Path(unpacked)) as browser:
            wide = side_by_side(browser, WIDE, ABOVE, extension_read(browser, WIDE, 384))
            size = {"width": 2 * PHONE["width"] + 36, "height": PHONE["height"] + 20}
            phone = side_by_side(browser, size, BESIDE, extension_read(browser, PHONE, PHONE["width"]))
    written(folder / "extension.png", wide)
    written(folder / "extension-phone.png", phone)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])) if len(sys.argv) > 1 else main())
