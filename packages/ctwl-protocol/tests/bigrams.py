"""A made causal LM for any tokenizer, whose texts have words."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM


class Bigrams(LlamaForCausalLM):
    """Made weights: a causal LM whose next token follows the pairs of a given text, a little smoothed."""

    @classmethod
    def of(cls, ids: list[int], tokenizer: Any) -> "Bigrams":
        """Learn from token ids of a text; a thousand may differ."""
        end = tokenizer.eos_token_id
        shape = {"hidden_size": 1024, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 8}
        config = LlamaConfig(vocab_size=len(tokenizer), **shape, tie_word_embeddings=False)
        config.eos_token_id = config.pad_token_id = end
        model = cls(config).eval()
        model._learn(ids)
        return model

    def _learn(self, ids: list[int]) -> None:
        known = sorted(set(ids))
        place = {token: i for i, token in enumerate(known)}
        counts = np.full((len(known), len(known)), 0.02)
        for a, b in pairwise(ids):
            counts[place[a], place[b]] += 1
        counts += np.bincount([place[token] for token in ids]) / len(ids)
        log = np.log(counts / counts.sum(axis=1, keepdims=True))
        width = self.config.hidden_size
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.zero_()
            self.model.norm.weight.fill_(1.0)
            self.lm_head.weight[:, 0] = -40.0
            for token, i in place.items():
                self.model.embed_tokens.weight[token, i + 1] = 1.0
                self.lm_head.weight[token, 0] = 0.0
                self.lm_head.weight[token, 1 : len(known) + 1] = torch.tensor(log[:, i], dtype=torch.float32)
            self.model.embed_tokens.weight[:, 0] = 1.0
            self.lm_head.weight /= (width / 2) ** 0.5
