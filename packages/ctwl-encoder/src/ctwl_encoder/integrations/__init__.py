"""The marker inside serving engines: transformers, vLLM and llama.cpp."""
