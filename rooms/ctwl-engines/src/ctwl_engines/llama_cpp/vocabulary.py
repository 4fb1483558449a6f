"""The vocabulary of a GGUF model as llama.cpp writes it."""

from __future__ import annotations

from typing import Any

import llama_cpp

from ctwl_protocol.bridge import Vocabulary, check_reachable


def read_vocabulary(llama: Any) -> Vocabulary:
    """Bytes of every token, from the engine's own function, which also writes the text.

    Args:
        llama: a ``llama_cpp.Llama``.

    Returns:
        A special token adds no bytes, and neither does one that ends a text: None.

    Raises:
        TokenizerUnsupported: see :func:`ctwl_protocol.bridge.vocabulary.check_reachable`.
    """
    known = llama_cpp.llama_model_get_vocab(llama.model)
    ends = {token for token in range(llama.n_vocab()) if llama_cpp.llama_vocab_is_eog(known, token)}
    vocabulary: Vocabulary = [
        None if token in ends else llama.detokenize([token]) or None for token in range(llama.n_vocab())
    ]
    check_reachable(vocabulary)
    return vocabulary
