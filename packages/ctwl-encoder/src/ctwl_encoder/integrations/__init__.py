"""The marker inside serving engines: transformers and vLLM."""
