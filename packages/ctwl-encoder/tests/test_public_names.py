"""What the wheel promises to export: a change here is a change of the interface."""

import ctwl_encoder


def test_the_exported_names() -> None:
    assert sorted(ctwl_encoder.__all__) == [
        "Bridge",
        "CTWLLogitsProcessor",
        "CTWLWatermarkingConfig",
        "Encoder",
        "EncoderError",
        "Generation",
        "Strategy",
    ]
    assert all(hasattr(ctwl_encoder, name) for name in ctwl_encoder.__all__)
