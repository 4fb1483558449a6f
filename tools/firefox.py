"""A Firefox with the browser extension in it, its button pressed as a person does, by Firefox's own Marionette."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

FIREFOX = next(filter(None, map(shutil.which, ["firefox", "firefox-esr"])), None)
PORT = 2828
"""Marionette's."""

_PRESS = """
const [id, done] = arguments;
(async () => {
  const { ExtensionParent } = ChromeUtils.importESModule("resource://gre/modules/ExtensionParent.sys.mjs");
  const window = Services.wm.getMostRecentWindow("navigator:browser");
  const button = ExtensionParent.apiManager.global.browserActionFor(WebExtensionPolicy.getByID(id).extension);
  await button.openPopup(window, false);
  for (;;) {
    const { badgeText, title } = button.action.getContextData(window.gBrowser.selectedTab);
    if (badgeText) return done([badgeText, title]);
    await new Promise((resolve) => window.setTimeout(resolve, 200));
  }
})().catch((error) => done([String(error), error.stack]));
"""
"""Presses an extension's button, and waits for its badge."""


@contextmanager
def firefox_with(extension: Path, profile: Path) -> Iterator[Firefox]:
    """A Firefox that has an extension, packed as a zip; ``profile`` is an empty folder."""
    command = [str(FIREFOX), "--headless", "--marionette", "--remote-allow-system-access", "--no-remote"]
    environment = os.environ | {"HOME": str(profile)}
    with subprocess.Popen(
        [*command, "--profile", str(profile)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with _connected(process) as connection, connection.makefile("rb") as answers:
                yield Firefox(extension, connection, answers)
        finally:
            process.terminate()


def _connected(process: subprocess.Popen[bytes]) -> socket.socket:
    """A connection to a Firefox that is starting."""
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("Firefox ended before it could be asked anything")


class Firefox:
    """What a person does: opens pages, presses the extension's button."""

    def __init__(self, extension: Path, connection: socket.socket, answers: BinaryIO) -> None:
        """Install the extension for as long as Firefox runs."""
        self._connection, self._answers, self._asked = connection, answers, 0
        self._answer()  # its greeting
        self._ask("WebDriver:NewSession", capabilities={})
        self._ask("WebDriver:SetTimeouts", script=300_000, pageLoad=300_000)
        self.extension = self._ask("Addon:Install", path=str(extension), temporary=True)["value"]

    def go(self, address: str) -> None:
        """Open a page."""
        self._ask("Marionette:SetContext", value="content")
        self._ask("WebDriver:Navigate", url=address)

    def press(self) -> list[str]:
        """Press the extension's button; its badge and its title when it has read the page."""
        self._ask("Marionette:SetContext", value="chrome")
        told = self._ask("WebDriver:ExecuteAsyncScript", script=_PRESS, args=[self.extension], sandbox="system")
        return [str(each) for each in told["value"]]

    def evaluate(self, script: str) -> Any:
        """What a script in the page returns."""
        self._ask("Marionette:SetContext", value="content")
        return self._ask("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def _ask(self, command: str, **parameters: Any) -> dict[str, Any]:
        self._asked += 1
        message = json.dumps([0, self._asked, command, parameters]).encode()
        self._connection.sendall(b"%d:%b" % (len(message), message))
        _, _, error, found = self._answer()
        if error:
            raise RuntimeError(f"Firefox says of {command}: {error['message']}")
        return found or {}

    def _answer(self) -> Any:
        length = b""
        while (character := self._answers.read(1)) != b":":
            length += character
        return json.loads(self._answers.read(int(length)))
