"""The token bridge: what it says a reader will see is what the reader sees."""

import unicodedata
from importlib import metadata
from itertools import pairwise, product
from pathlib import Path
from shutil import copyfile
from typing import Any, Literal

import numpy as np
import pytest
import tokenizers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaTokenizer,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.core import bridge as bridge_module
from ctwl_encoder.core.continuations import Continuations
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.expected_evidence import marked_positions
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.reading import Reading, Tail, breaks, grow, visible
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.text_state import TextState
from ctwl_encoder.core.vocabulary import read_vocabulary
from ctwl_encoder.errors import ModelUnsuitable, TokenizerUnsupported
from ctwl_encoder.integrations.transformers import CTWLLogitsProcessor
from ctwl_encoder.models import load_tokenizer
from ctwl_protocol import get_profile
from ctwl_protocol.proxy import Proxy, ProxyTokenizer
from ctwl_protocol.text.normalization import WHITE_SPACE, normalize_within

TEXT = """\
The council's plan, which didn't pass in 2023, will cost $12,345.67 — “far too much”, says O'Neill.  Two  spaces…

def area(radius: float) -> float:
    if radius < 0:
\t\treturn None  # 不可能
    return 3.14159 * radius ** 2

我们昨天去了北京的一家小书店，买了三本书。天气很好，大家都很高兴。
ذهبنا أمس إلى المكتبة الكبيرة في وسط المدينة واشترينا ثلاثة كتب جديدة.
हम कल शहर की एक छोटी किताबों की दुकान पर गए थे।
\r\n one\r\u200b\n two\r\u0085 three\r
🙂🙃👩‍👩‍👧‍👦🏳️‍🌈 ½ ² Ⅷ ①  cafe\u0301 naïve ﬁ 각각 \u1112\u1161\u11ab 👍🏽 龘靐
"""
SCRIPTS = list(dict.fromkeys(TEXT))


@pytest.fixture(scope="session")
def gpt2(gpt2_tokenizer_files: dict[str, Path]) -> Proxy:
    """A proxy over GPT-2's vocabulary that weighs every token alike."""
    profile = get_profile("org.ctwl.gpt2.1").vanilla()
    files = gpt2_tokenizer_files
    return Proxy(profile, ProxyTokenizer(profile.tokenizer, files["vocab.json"], files["merges.txt"]), None)


@pytest.fixture(scope="session")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Mistral's genuine tokenizer: SentencePiece with byte fallback."""
    folder = tmp_path_factory.mktemp("mistral")
    (file,) = [file for file in metadata.files("mistral_common") or [] if file.name == "tokenizer.model.v1"]
    copyfile(str(file.locate()), folder / "tokenizer.model")
    tokenizer = LlamaTokenizer.from_pretrained(folder)
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"
    return tokenizer


@pytest.fixture(scope="session", params=["gpt2", "smollm2"])
def proxy(request: pytest.FixtureRequest, gpt2: Proxy, fast_proxy: Proxy) -> Proxy:
    return gpt2 if request.param == "gpt2" else fast_proxy


def check_reading(proxy: Proxy, data: bytes, cuts: list[int]) -> None:
    """A reading that grows by pieces ends in the tokens that the whole text has."""
    table = breaks(proxy.profile.tokenizer.pre_tokenizer)
    reading, settled, start = Reading(10, Tail()), [], 0
    for cut in [*sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]:
        step = grow(reading.tail, data[start:cut], proxy.tokenizer, table)
        longer = reading.after(step)
        settled += step.settled
        assert (len(settled), tuple(settled[-10:])) == (longer.count, longer.recent)
        reading, start = longer, cut
        text = normalize_within(visible(data[:cut])[0]).lstrip(WHITE_SPACE)
        whole = proxy.tokenizer.encode_within([text])[0]
        assert len(reading) == len(whole)
        assert [*settled, *reading.tail.tokens] == whole


@settings(max_examples=100)
@given(
    st.one_of(st.text(st.sampled_from(SCRIPTS), max_size=60), st.text(max_size=40)),
    st.lists(st.integers(0, 400), max_size=40),
)
def test_a_reading_is_exact_wherever_the_text_is_cut(proxy: Proxy, text: str, cuts: list[int]) -> None:
    known = "".join(c for c in text if unicodedata.category(c) not in ("Cs", "Cn"))
    check_reading(proxy, known.encode(), cuts)


def test_a_reading_is_exact_byte_by_byte_through_every_script(proxy: Proxy) -> None:
    data = TEXT.encode()
    check_reading(proxy, data, list(range(len(data))))


def test_lines_that_end_in_every_way_are_read_as_a_reader_does(proxy: Proxy) -> None:
    table = breaks(proxy.profile.tokenizer.pre_tokenizer)
    for ends in product(["\r", "\n", "\r\n", "\u200b", " "], repeat=3):
        reading = Reading(10, Tail())
        for piece in ("x", *ends, "The"):
            reading = reading.after(grow(reading.tail, piece.encode(), proxy.tokenizer, table))
        whole = proxy.tokenizer.encode("".join(("x", *ends, "The")))
        assert (*reading.recent, *reading.tail.tokens) == tuple(whole.tolist()), ends


def test_a_step_that_settles_many_tokens_keeps_their_marks(proxy: Proxy) -> None:
    """A clause without spaces, as in Chinese, is settled as a whole where it ends."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=proxy.tokenizer.backend)
    marker = DeviceMarker(Bridge(tokenizer, proxy), Strategy.UNBIASED)
    ids = tokenizer("\u6cb3\u4e0a\u7684\u65b0\u6865\u5728\u51ac\u5929\u4e4b\u524d\u4e0d\u4f1a\u5f00\u653e" * 2)[
        "input_ids"
    ]
    text = marker.start(Payload((77,)), 2.0)
    for token in ids:
        chances = np.full((1, len(tokenizer)), -20.0, dtype=np.float32)
        chances[0, [token, *ids[:40]]] = 0.0
        marker.reweigh([text], torch.from_numpy(chances))
        text = marker.extend(text, token)
    before = sum(1 for _ in marked_positions(text.last))
    assert len(text.reading) - text.reading.count > 10 and before > 10
    settled = text.reading.count
    text = marker.extend(text, tokenizer(" a")["input_ids"][0])
    assert text.reading.count - settled > 10
    assert sum(1 for _ in marked_positions(text.last)) >= before - 1
    assert {place: sorted(tokens) for place, tokens in text.seen().items() if tokens} == {
        place: sorted(tokens) for place, tokens in TextState(text.payload, 2.0, text.reading, text.last).seen().items()
    }


def test_bytes_that_are_no_text_and_endless_words_are_read(proxy: Proxy) -> None:
    table = breaks(proxy.profile.tokenizer.pre_tokenizer)
    reading = Reading(10, Tail())
    broken, returns = [b"\xff"] * 600, [b"\r", *["\u200b".encode()] * 100]
    for piece in [b"\xff\xfe abc ", *[b"abcdefgh" * 4] * 200, b"\xe4\xb8", b" x", *broken, *returns, b" x"]:
        reading = reading.after(grow(reading.tail, piece, proxy.tokenizer, table))
        assert len(reading.tail.text) <= 300
        assert len(reading.tail.pending) <= 4
        assert len(reading.recent) <= 10


def test_white_space_behind_what_has_no_token_is_part_of_the_text(proxy: Proxy) -> None:
    check_reading(proxy, b"\x04 a b", list(range(6)))


@pytest.fixture(scope="session")
def families(mistral: Any, gpt2: Proxy) -> dict[str, Any]:
    return {
        "mistral": mistral,
        "gpt2": PreTrainedTokenizerFast(tokenizer_object=gpt2.tokenizer.backend, eos_token="<|endoftext|>"),
        "smollm2": load_tokenizer("smollm2"),
    }


@pytest.mark.parametrize("family", ["mistral", "gpt2", "smollm2"])
def test_tokens_are_the_bytes_of_the_text(families: dict[str, Any], family: str) -> None:
    tokenizer = families[family]
    vocabulary = read_vocabulary(tokenizer)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    written = b"".join(vocabulary[i] or b"" for i in ids).decode(errors="replace").removeprefix(" ")
    assert written == tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    if family != "smollm2":  # which lacks some bytes
        assert written == TEXT
    assert all(vocabulary[i] is None for i in tokenizer.all_special_ids)


def read_on(bridge: Bridge, reading: Reading, token: int) -> Reading:
    """The reading after one more token of the provider's model."""
    step = bridge.step(reading.tail, token)
    return reading if step is None else reading.after(step)


@pytest.mark.parametrize("family", ["mistral", "gpt2", "smollm2"])
def test_likely_candidates_show_what_their_branch_says(families: dict[str, Any], proxy: Proxy, family: str) -> None:
    """At every place of a text in many scripts, for candidates of every kind: words, pieces, spaces, bytes, marks."""
    tokenizer = families[family]
    bridge = Bridge(tokenizer, proxy, joined=10_000)
    rng = np.random.default_rng(5)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    reading, right, told, likely_ones = bridge.start(), 0, 0, 0
    for step, token in enumerate(ids):
        if step % 12 == 0:
            chances = np.zeros(len(bridge.vocabulary), dtype=np.float32)
            chosen = rng.choice(len(chances), 60, replace=False)
            chances[chosen] = rng.dirichlet(np.ones(60))
            likely_ones += sum(bool(bridge.vocabulary[i]) and chances[i] > 1e-4 for i in chosen)
            seen = set()
            for branch in bridge.branches(reading, chances):
                for candidate, shown in zip(branch.candidates.tolist(), branch.tokens.tolist(), strict=True):
                    after = read_on(bridge, reading, candidate)
                    now = (*after.recent, *after.tail.tokens)
                    place = reading.count + len(branch.path) - (len(after) - len(now))
                    before = now[:place][-len(branch.path) :] if branch.path else ()
                    right += 0 <= place < len(now) and now[place] == shown and before == branch.path[-place or None :]
                    told += 1
                    seen.add(candidate)
            assert len(seen) >= 0.5 * len(chosen) or reading.tail.pending or len(reading) == 0
        reading = read_on(bridge, reading, token)
    assert right / told > 0.99
    assert told > 0.8 * likely_ones


def test_white_space_behind_a_word_needs_no_tokenizing(families: dict[str, Any], gpt2: Proxy) -> None:
    """It is certainly cut off from the word, so however unlikely it is, it is marked with the first token it shows."""
    tokenizer = families["smollm2"]
    bridge = Bridge(tokenizer, gpt2, joined=0)
    reading = bridge.start()
    for token in tokenizer("It ends here", add_special_tokens=False)["input_ids"]:
        reading = read_on(bridge, reading, token)
    pieces = {i: data for i, data in enumerate(bridge.vocabulary) if data in (b"\n", b"\n\n", b"  ", b" \n", b"\t")}
    chances = np.zeros(len(bridge.vocabulary), dtype=np.float32)
    chances[list(pieces)] = 1e-3
    (branch,) = bridge.branches(reading, chances)
    assert branch.path == reading.tail.tokens
    shown = {pieces[i]: gpt2.tokenizer.decode(np.array([token])) for i, token in zip(*branch[1:3], strict=True)}
    assert shown == {b"\n": "\n", b"\n\n": "\n\n", b"  ": " ", b" \n": " ", b"\t": "\t"}


@pytest.mark.parametrize("before", ["word", "word\n", "word  ", "7", "%"])
def test_a_space_before_a_digit_is_read_as_a_reader_does(proxy: Proxy, before: str) -> None:
    """Where each digit stands alone, the space before it belongs to the white space, never to the digit."""
    bridge = Bridge([before.encode(), b" 12"], proxy)
    reading = read_on(bridge, read_on(bridge, bridge.start(), 0), 1)
    assert [*reading.recent, *reading.tail.tokens] == proxy.tokenizer.encode_within([before + " 12"])[0]


def test_a_long_tail_costs_no_more_than_a_short_one(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may let a model write a word without end; what is tokenized and remembered stays bounded."""
    vocabulary: list[bytes | None] = [bytes([a, b]) for a, b in product(range(0x61, 0x7B), repeat=2)]
    bridge, counted = Bridge(vocabulary, proxy), list[int]()
    encode = ProxyTokenizer.encode_within

    def count(self: ProxyTokenizer, texts: list[str]) -> list[list[int]]:
        counted.append(sum(map(len, texts)))
        return encode(self, texts)

    monkeypatch.setattr(ProxyTokenizer, "encode_within", count)
    reading, rng, joined = bridge.start(), np.random.default_rng(1), list[int]()
    for token in rng.integers(0, len(vocabulary), 120).tolist():
        reading = read_on(bridge, reading, token)
        bridge.join(reading.tail, rng.choice(len(vocabulary), 64, replace=False).tolist())
        joined.append(len(bridge.continuations(reading.tail).joined))
    assert len(reading.tail.text) > 200
    assert joined[0] == 64 and 0 < joined[-1] < 16
    assert max(counted) <= bridge_module.JOINED_TEXT
    monkeypatch.setattr(bridge_module, "_REMEMBERED", 1 << 20)
    for token in rng.integers(0, len(vocabulary), 120).tolist():
        reading = read_on(bridge, reading, token)
        bridge.join(reading.tail, rng.choice(len(vocabulary), 64, replace=False).tolist())
    assert len(bridge._tails) < 60


def test_the_places_inside_of_candidates_are_bounded() -> None:
    """Those where most candidates differ stay; at the others the candidates keep their probability."""
    behind = Continuations((1,), [(1,)], np.full(9, -1, dtype=np.int32))
    behind.add({50 * n + k: (1, 100 + n, k) for n in range(20) for k in range(2 + n)})
    assert behind.paths == [(1,), *[(1, 100 + n) for n in range(19, 11, -1)]]
    assert set(behind.entries[:, 1].tolist()) == set(range(9))


class _Bigrams(LlamaForCausalLM):  # type: ignore[misc]
    """Made weights: a causal LM whose next token follows the pairs of a given text, a little smoothed."""

    def learn(self, ids: list[int]) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["unbiased", "gumbel"])
def test_sentencepiece_with_byte_fallback_in_every_script(
    mistral: Any, fast_proxy: Proxy, strategy: Literal["unbiased", "gumbel"]
) -> None:
    """The text of a made model round-trips byte for byte, and the reader sees the positions that were marked."""
    ids = mistral(TEXT * 3, add_special_tokens=False)["input_ids"]
    config = LlamaConfig(
        vocab_size=len(mistral), hidden_size=1024, intermediate_size=8, num_hidden_layers=1, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=2048, tie_word_embeddings=False, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip
    model = _Bigrams(config).eval()
    model.learn(ids)
    encoder = Encoder(model, mistral, fast_proxy)
    prompts = ["def area", "我们", "ذهبنا", "🙂", "The council", "12,345"]
    written = encoder.generate(prompts, 77, 7, strategy=strategy, max_new_tokens=300, min_new_tokens=300, seed=3)
    joined = "".join(generation.text for generation in written)
    assert any("\u4e00" <= c <= "\u9fff" for c in joined)
    assert any("\u0600" <= c <= "\u06ff" for c in joined)
    assert any(c > "\uffff" for c in joined)
    assert sum(generation.marked for generation in written) > 800
    assert sum(generation.lost for generation in written) <= 0.03 * sum(generation.marked for generation in written)


def test_the_text_that_is_handed_out_is_the_text_that_was_marked(mistral: Any, fast_proxy: Proxy) -> None:
    bridge = Bridge(mistral, fast_proxy)
    processor = CTWLLogitsProcessor(bridge, [Payload((9,))])
    ids = np.array(mistral(TEXT.rstrip(), add_special_tokens=False)["input_ids"])
    prompt = np.array([[1]])
    for length in range(len(ids)):
        given = torch.from_numpy(np.concatenate([prompt, ids[None, :length]], axis=1))
        processor(given, 4 * torch.randn(1, len(mistral), generator=torch.Generator().manual_seed(length)))
    read = fast_proxy.tokenizer.encode(mistral.decode(ids)).tolist()
    marks = list(marked_positions(processor.text(Payload((9,)), ids).last))
    assert len(marks) > 150
    assert all(read[mark.position] == mark.token and read[mark.position - 1] == mark.context[0] for mark in marks)


def test_what_cannot_be_bridged_is_refused_before_generation(fast_proxy: Proxy) -> None:
    with pytest.raises(TokenizerUnsupported, match="without a tokenizer"):
        read_vocabulary(None)
    lower = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    lower.decoder = tokenizers.decoders.WordPiece()
    with pytest.raises(TokenizerUnsupported, match="WordPiece"):
        read_vocabulary(PreTrainedTokenizerFast(tokenizer_object=lower, unk_token="[UNK]"))
    few = tokenizers.Tokenizer(tokenizers.models.BPE({chr(c): c - 0x41 for c in range(0x41, 0x5B)}, []))
    few.decoder = tokenizers.decoders.ByteLevel()
    with pytest.raises(TokenizerUnsupported, match="cannot reach the byte 0x20"):
        read_vocabulary(PreTrainedTokenizerFast(tokenizer_object=few))
    tokenizer = load_tokenizer("smollm2")
    t5 = T5ForConditionalGeneration(T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=32))
    with pytest.raises(ModelUnsuitable, match="encoder-decoder"):
        Encoder(t5, tokenizer, fast_proxy)
    bert = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
    with pytest.raises(ModelUnsuitable, match="causal"):
        Encoder(bert, tokenizer, fast_proxy)
