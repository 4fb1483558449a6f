"""What is marked through the token bridge is what the reader sees."""

from typing import Any

import numpy as np
import pytest
import torch
from bigrams import Bigrams
from by_hand import positions_of
from many_scripts import TEXT
from transformers import BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.race.shares import SHARE
from ctwl_encoder.integrations.transformers import CTWLLogitsProcessor
from ctwl_encoder.models import load_tokenizer
from ctwl_protocol.errors import ModelUnsuitable
from ctwl_protocol.proxy import Proxy


def test_a_step_that_settles_many_tokens_keeps_their_marks(bridge: Bridge, smollm2: tuple[Any, Any]) -> None:
    """A clause without spaces, as in Chinese, is settled as a whole where it ends."""
    marker, tokenizer = DeviceMarker(bridge, Strategy.RACE), smollm2[1]
    ids = tokenizer("\u6cb3\u4e0a\u7684\u65b0\u6865\u5728\u51ac\u5929\u4e4b\u524d\u4e0d\u4f1a\u5f00\u653e" * 2)[
        "input_ids"
    ]
    text = marker.start(Payload((77,)), SHARE)
    columns = marker.texts.columns
    for token in ids:
        chances = np.full((1, len(tokenizer)), -20.0, dtype=np.float32)
        chances[0, [token, *ids[:40]]] = 0.0
        marker.mark([text], torch.from_numpy(chances))
        marker.extend([text], [token])
    before, settled = len(marker.texts.of(text).marked.token), int(columns.settled[text])
    assert marker.lengths([text])[0] - settled > 10 and before > 10
    marker.extend([text], [tokenizer(" a")["input_ids"][0]])
    assert columns.settled[text] - settled > 10
    assert len(marker.texts.of(text).marked.token) >= before - 1


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [strategy for strategy in Strategy if strategy.keeps_distribution])
def test_sentencepiece_with_bytes_in_every_script(mistral: Any, offline_proxy: Proxy, strategy: Strategy) -> None:
    """The text of a made model round-trips byte for byte, and the reader sees the positions that were marked."""
    ids = mistral(TEXT * 3, add_special_tokens=False)["input_ids"]
    model = Bigrams.of(ids, mistral)
    encoder = Encoder(model, mistral, offline_proxy)
    prompts = ["def area", "我们", "ذهبنا", "🙂", "The council", "12,345"]
    written = encoder.generate(prompts, 77, 7, strategy=strategy, max_new_tokens=300, min_new_tokens=300, seed=3)
    joined = "".join(generation.text for generation in written)
    assert any("\u4e00" <= c <= "\u9fff" for c in joined)
    assert any("\u0600" <= c <= "\u06ff" for c in joined)
    assert any(c > "\uffff" for c in joined)
    assert sum(generation.marked for generation in written) > 800
    assert sum(generation.lost for generation in written) <= 0.03 * sum(generation.marked for generation in written)


def test_the_text_that_is_handed_out_is_the_text_that_was_marked(mistral: Any, offline_proxy: Proxy) -> None:
    bridge = Bridge(mistral, offline_proxy)
    processor = CTWLLogitsProcessor(bridge, [Payload((9,))], strategy="race")
    ids = np.array(mistral(TEXT.rstrip(), add_special_tokens=False)["input_ids"])
    prompt = np.array([[1]])
    for length in range(len(ids)):
        given = torch.from_numpy(np.concatenate([prompt, ids[None, :length]], axis=1))
        processor(given, 4 * torch.randn(1, len(mistral), generator=torch.Generator().manual_seed(length)))
    read = offline_proxy.tokenizer.encode(mistral.decode(ids)).tolist()
    marks = positions_of(processor.marker.texts.of(processor.text(Payload((9,)), ids)).marked)
    assert len(marks) > 150
    assert all(read[position] == token for position, token in marks)


def test_models_that_write_no_text_are_refused_before_generation(offline_proxy: Proxy) -> None:
    tokenizer = load_tokenizer("smollm2")
    t5 = T5ForConditionalGeneration(T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=32))
    with pytest.raises(ModelUnsuitable, match="encoder-decoder"):
        Encoder(t5, tokenizer, offline_proxy)
    bert = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
    with pytest.raises(ModelUnsuitable, match="causal"):
        Encoder(bert, tokenizer, offline_proxy)
