"""The SGLang plug-in; see :mod:`ctwl_engines.sglang.plugin`."""
