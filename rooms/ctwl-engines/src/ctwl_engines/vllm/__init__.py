"""The vLLM plug-in; see :mod:`ctwl_engines.vllm.processor`."""
