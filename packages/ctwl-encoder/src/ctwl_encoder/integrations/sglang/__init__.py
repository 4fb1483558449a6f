"""The SGLang plug-in; see :mod:`ctwl_encoder.integrations.sglang.plugin`."""
