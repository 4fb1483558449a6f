"""What many of the decoder's tests take: a recorded text, and the offline profile's decoder."""

import pytest
import recorded_texts

from ctwl_decoder import Decoder


@pytest.fixture(scope="session")
def marked() -> str:
    """A text of provider 700, version 9, nonce 21."""
    return recorded_texts.HALF.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def decoder() -> Decoder:
    return Decoder.open("org.ctwl.smollm2-135m.1")
