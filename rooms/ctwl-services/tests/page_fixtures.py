"""A page in a real browser, and what people do there first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

READ = "Look for a watermark"
PATIENCE = 120_000  # milliseconds: the machines of tests may be busy


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from chromium import CHROMIUM, QUIET
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address; the page may load itself, its threads and its service's answers, and must not complain."""
    from playwright.sync_api import expect

    contexts, asked, complaints = [], [], []

    def go(address: str, button: str = READ, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url.removeprefix(address)))
        page.on("console", lambda message: complaints.append(message.text))  # a policy's violations are told here
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(address)
        expect(page.locator("#read")).to_have_text(button)
        expect(page.locator("#read")).to_be_enabled(timeout=PATIENCE)
        return page

    yield go
    for context in contexts:
        context.close()
    assert [each for each in complaints if not re.search("status of 4|ERR_FAILED", each)] == []  # refusals are wanted
    assert {each for each in asked if not each.startswith("blob:")} <= {"", "v1/decode", "v1/words"}


def read(page: Any, text: str | None = None) -> Any:
    """Let the page read what is in its box, or a text; where the result will be."""
    if text is not None:
        page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name=READ).click()
    return page.locator("#result:not([hidden]):not([data-early])")
