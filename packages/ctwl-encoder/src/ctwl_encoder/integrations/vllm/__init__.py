"""The vLLM plug-in; see :mod:`ctwl_encoder.integrations.vllm.processor`."""
