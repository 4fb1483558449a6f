"""What many of the decoder's tests take: a recorded text, and the offline profile's decoder."""

import pytest
import recorded_texts

from ctwl_decoder import Decoder
from ctwl_protocol.proxy import Proxy


@pytest.fixture(scope="session")
def marked() -> str:
    """A text of provider 700, version 9, nonce 21."""
    return recorded_texts.HALF.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def decoder(offline_proxy: Proxy) -> Decoder:
    return Decoder(offline_proxy)
