"""A Chromium with the browser extension in it, its button pressed as a person does: for tests and for pictures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_EXTENSIONS = ["--headless=new", "--enable-unsafe-extension-debugging"]
"""Extensions want the whole browser, and are loaded by the debugging protocol."""

_MILLISECONDS = 50
"""Between two looks at what is to come."""


@contextmanager
def chromium_with(extension: Path, **options: Any) -> Iterator[Browser]:
    """A Chromium that has an unpacked extension; ``options`` are those of Playwright's contexts."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            "",
            executable_path=CHROMIUM,
            headless=False,  # else Playwright takes a smaller browser
            args=[*QUIET, *_EXTENSIONS],
            ignore_default_args=["--disable-extensions"],
            **options,
        )
        yield Browser(context, extension)
        context.close()


class Browser:
    """What a person does: opens pages, presses the extension's button."""

    def __init__(self, context: BrowserContext, extension: Path) -> None:
        """Load the extension."""
        if context.browser is None:
            raise RuntimeError("Playwright keeps no browser of this context; upgrade it")
        self.context = context
        self._protocol = context.browser.new_browser_cdp_session()
        self._answers: list[dict[str, Any]] = []
        self._protocol.on("Target.receivedMessageFromTarget", lambda message: self._answers.append(message))  # noqa: PLW0108
        self.extension = self._protocol.send("Extensions.loadUnpacked", {"path": str(extension)})["id"]

    def press(self, page: Page) -> Popup:
        """Press the extension's button while a page is in front: the page is what the popup may then read."""
        page.bring_to_front()
        tabs = self._targets(filter=[{"type": "tab"}])
        (tab,) = (each["targetId"] for each in tabs if each["url"] == page.url and each["embedderData"]["tabActive"])
        self._protocol.send("Extensions.triggerAction", {"id": self.extension, "targetId": tab})
        address = f"chrome-extension://{self.extension}/popup.html"
        while not (found := [each for each in self._targets() if each["url"] == address]):
            page.wait_for_timeout(_MILLISECONDS)
        attach = {"targetId": found[0]["targetId"], "flatten": False}
        return Popup(
            self._protocol, self._protocol.send("Target.attachToTarget", attach)["sessionId"], self._answers, page
        )

    def _targets(self, **filters: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._protocol.send("Target.getTargets", filters)["targetInfos"]
        return found


class Popup:
    """The extension's popup, which Playwright does not know as a page."""

    def __init__(self, protocol: Any, session: str, answers: list[dict[str, Any]], page: Page) -> None:
        """Talk to the popup of a session; ``page`` is the one in front of which it stands."""
        self._protocol, self._session, self._answers, self._page = protocol, session, answers, page
        self._asked = 0
        self._ask("Log.enable")
        self._ask("Runtime.enable")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the popup; a promise is waited for."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"the popup says: {found['exceptionDetails']}")
        return found["result"].get("value")

    def text(self, name: str) -> str:
        """The text of an element, empty while it is not shown."""
        return str(self.evaluate(f"((e) => e.checkVisibility() ? e.innerText : '')(document.getElementById('{name}'))"))

    def wait_until(self, expression: str) -> None:
        """Wait until an expression is true in the popup."""
        while not self.evaluate(expression):
            self._page.wait_for_timeout(_MILLISECONDS)

    def wait(self) -> None:
        """Wait for the verdict, or for the word that there is none."""
        last = "document.querySelector('#result:not([hidden]):not([data-early]), #message.wrong')"
        self.wait_until(f"{last} !== null && document.getElementById('stop').hidden")

    def click(self, name: str) -> None:
        """Press one of the popup's buttons."""
        self.evaluate(f"document.getElementById('{name}').click()")

    def shown(self) -> str:
        """What the popup shows now, as HTML without its scripts; its styles are files of the extension."""
        return str(self.evaluate("document.documentElement.outerHTML.replace(/<script[^]*<\\/script>/, '')"))

    def complaints(self) -> list[str]:
        """What the browser's console has of the popup: violations of its policy, errors."""
        told = [json.loads(each["message"]) for each in self._answers if each["sessionId"] == self._session]
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [str(each["params"]) for each in told if each.get("method") in kinds]

    def close(self) -> None:
        """Close the popup, as a click beside it does."""
        self._ask("Runtime.evaluate", expression="setTimeout(() => window.close())")
        self._page.wait_for_timeout(4 * _MILLISECONDS)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        message = json.dumps({"id": self._asked, "method": method, "params": params})
        self._protocol.send("Target.sendMessageToTarget", {"sessionId": self._session, "message": message})
        while True:
            for each in self._answers:
                answer = json.loads(each["message"])
                if each["sessionId"] == self._session and answer.get("id") == self._asked:
                    found: dict[str, Any] = answer["result"]
                    return found
            self._page.wait_for_timeout(10)
