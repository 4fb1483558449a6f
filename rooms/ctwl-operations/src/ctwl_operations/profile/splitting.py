"""The splitting rule of a model's tokenizer, found by comparison (spec section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctwl_protocol.errors import ProxyMalformed
from ctwl_protocol.text.splitting import SPLITS, SplittingRule, build_bpe

_SAMPLES = (
    "The river rose by 1234567 litres in 2026, they'll say; we've seen 3.14159 of it.",
    " leading and  double   spaces\tand tabs\n\n  and lines \n",
    "It's JOHN'S, I'M sure: don't, DON'T, we'd... what?!! (a)[b]{c} <d> e@f.gh #i $5.00 100% x=y+z*2;",
    "CamelCase snake_case kebab-case http://example.com/a?b=c&d=e 12:34 1/2 -5 +6 ~7 §8",
    "Übermäßig naïve façade, Владимир пишет, 東京は大きい, ١٢٣ ४५६ ½ Ⅷ 你好123世界, 👍🏽 e\u0301",
)
"""Texts that common rules split differently: numbers, contractions, capitals, white space, scripts."""


def find_rule(vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], tokenizer: bytes) -> SplittingRule:
    """The rule under which vocabulary and merges tokenize the samples as the model's own tokenizer does.

    Args:
        vocabulary: token strings to ids.
        merges: in order of priority.
        tokenizer: the content of the model's ``tokenizer.json``.

    Raises:
        ProxyMalformed: the tokenizer cannot be read, or follows no named rule.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ProxyMalformed(
            "comparing tokenizers needs the package tokenizers: install ctwl-protocol[light], or name the rule"
        ) from error
    try:
        own = Tokenizer.from_buffer(tokenizer)
        own.no_truncation()
        own.no_padding()
        wanted = [own.encode(text, add_special_tokens=False).ids for text in _SAMPLES]
    except Exception as error:  # the binding raises plain Exception
        raise ProxyMalformed(f"tokenizer.json cannot be read: {error}") from error
    for rule in SPLITS:
        bpe = build_bpe(vocabulary, merges, rule)
        if [bpe.encode(text, add_special_tokens=False).ids for text in _SAMPLES] == wanted:
            return rule
    raise ProxyMalformed(
        f"the model's tokenizer splits text by none of the named rules ({', '.join(SPLITS)}), so its LM cannot be a "
        "proxy; take a published profile's proxy, or name the rule that comes closest"
    )
