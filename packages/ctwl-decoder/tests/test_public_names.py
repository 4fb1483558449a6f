"""What the wheel promises to export: a change here is a change of the interface."""

import ctwl_decoder


def test_the_exported_names() -> None:
    assert sorted(ctwl_decoder.__all__) == ["Decoder", "DecoderError", "Report", "Span", "decode", "describe"]
    assert all(hasattr(ctwl_decoder, name) for name in ctwl_decoder.__all__)
