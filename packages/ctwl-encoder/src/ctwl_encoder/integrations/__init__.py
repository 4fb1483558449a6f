"""The marker inside serving engines: transformers, vLLM, SGLang and llama.cpp."""
