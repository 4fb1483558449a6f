"""Every way in which transformers generates: what a config writes is marked as suits it, or it is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    WatermarkingConfig,
    pipeline,
)
from transformers.generation import ContinuousMixin, GenerationMixin
from transformers.generation.candidate_generator import CandidateGenerator
from transformers.generation.continuous_batching import ContinuousBatchingManager
from transformers.models.diffusion_gemma.generation_diffusion_gemma import (
    DiffusionGemmaGenerationConfig,
    DiffusionGemmaGenerationMixin,
)

from ctwl_decoder import Decoder
from ctwl_encoder import CTWLLogitsProcessor, CTWLWatermarkingConfig, Encoder, Strategy
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.errors import FaintText, SamplingUnknown, ShortText, StrategyUnsuitable
from ctwl_encoder.integrations.transformers import ProcessorConfig, WatermarksInTurn, sampling
from ctwl_encoder.models import load_tokenizer
from ctwl_encoder.options import GenerationOptions
from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.errors import TokenizerUnsupported

PROFILE = "org.ctwl.toy.1"
CODE = Beacon(42, 3, 7).code
PROMPT = "The council said on Tuesday that the new bridge over the river would"
LENGTH = {"max_new_tokens": 80, "min_new_tokens": 80}
SAMPLED = {"do_sample": True, "top_k": 0}
ITSELF = object()
"""The model as its own assistant."""


@pytest.fixture
def config(toy: Encoder) -> CTWLWatermarkingConfig:
    """A config that names no strategy, as the pages have it."""
    return CTWLWatermarkingConfig(codes=[CODE], delta=4.0, profile=PROFILE).attach(toy.bridge)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The strategy of each processor that is made."""
    made = list[str]()
    begin = CTWLLogitsProcessor.__init__

    def noted(self: CTWLLogitsProcessor, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        made.append(str(self.marker.strategy))

    monkeypatch.setattr(CTWLLogitsProcessor, "__init__", noted)
    return made


def write(toy: Encoder, *, model: Any = None, **asked: Any) -> str:
    """One text, without its prompt."""
    inputs = toy.tokenizer([PROMPT], return_tensors="pt")
    asked = {name: toy.model if value is ITSELF else value for name, value in asked.items()}
    torch.manual_seed(11)
    ids = (model or toy.model).generate(**inputs, pad_token_id=toy.tokenizer.pad_token_id, **asked)
    return str(toy.tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))


@pytest.mark.parametrize(
    ("asked", "strategy"),
    [
        ({**SAMPLED, "temperature": 0.7, "top_p": 0.95}, "race"),
        (SAMPLED, "race"),
        ({"repetition_penalty": 1.3}, "delta"),
        ({"num_beams": 2, "repetition_penalty": 1.5}, "delta"),
        ({**SAMPLED, "num_beams": 2, "temperature": 0.7}, "delta"),
        ({**SAMPLED, "prompt_lookup_num_tokens": 3}, "race"),
        ({**SAMPLED, "cache_implementation": "static"}, "race"),
        ({**SAMPLED, "use_cache": False}, "race"),
        ({"assistant_model": ITSELF, "do_sample": True}, "race"),  # top_k is 50
        ({"assistant_model": ITSELF, "repetition_penalty": 1.3}, "delta"),
        ({"assistant_early_exit": 1, **SAMPLED, "temperature": 0.7, "top_p": 0.95}, "race"),
    ],
    ids=["T 0.7", "no T", "greedy", "beams", "beams that sample", "prompt lookup", "static cache", "no cache",
         "drafts", "greedy drafts", "early exit"],
)  # fmt: skip
def test_the_strategy_is_the_default_for_the_call(
    toy: Encoder,
    toy_decoder: Decoder,
    config: CTWLWatermarkingConfig,
    chosen: list[str],
    asked: dict[str, Any],
    strategy: str,
) -> None:
    """Drafts are marked by the model that they are for."""
    text = write(toy, watermarking_config=config, **asked, **LENGTH)
    assert chosen == [strategy]
    assert toy_decoder.decode(text).code == CODE


def test_it_is_the_strategy_that_the_encoder_takes(
    toy: Encoder, config: CTWLWatermarkingConfig, chosen: list[str]
) -> None:
    for options in ({"temperature": 0.7, "top_p": 0.95}, {}, {"temperature": 0}, {"num_beams": 2}):
        asked = GenerationOptions(max_new_tokens=2, **options)
        write(toy, watermarking_config=config, **asked.for_transformers())
        toy.generate(PROMPT, 42, 3, **asked.model_dump())
    assert chosen[::2] == chosen[1::2]


@pytest.mark.parametrize("how", ["generation_config", "model", "loaded", "in turn"])
def test_the_sampling_is_seen_wherever_the_config_comes_from(
    toy: Encoder, config: CTWLWatermarkingConfig, chosen: list[str], tmp_path: Path, how: str
) -> None:
    asked: dict[str, Any] = {"do_sample": True, "temperature": 0.7, "max_new_tokens": 2}
    given = GenerationConfig(watermarking_config=config, **asked)
    if how == "in turn":
        write(toy, watermarking_config=WatermarksInTurn(WatermarkingConfig(), config), **asked)
    elif how == "generation_config":
        write(toy, generation_config=given)
    elif how == "loaded":
        given.save_pretrained(tmp_path)
        loaded = GenerationConfig.from_pretrained(tmp_path)
        loaded.watermarking_config = loaded.watermarking_config.attach(toy.bridge)
        write(toy, generation_config=loaded)
    else:
        model = LlamaForCausalLM(toy.model.config).eval()
        model.generation_config = given
        write(toy, model=model)
    assert chosen == ["race"]


def test_a_pipeline_is_marked_by_its_own_sampling(
    toy: Encoder, config: CTWLWatermarkingConfig, chosen: list[str]
) -> None:
    writer = pipeline("text-generation", toy.model, tokenizer=toy.tokenizer, device="cpu")
    writer(PROMPT, watermarking_config=config, do_sample=True, temperature=0.5, max_new_tokens=2)
    assert chosen == ["race"]


class Drafts(CandidateGenerator):  # type: ignore[misc]  # transformers has no types
    """Three random tokens as a draft, with logits that nobody has marked."""

    requires_model_outputs = False

    def get_candidates(self, input_ids: torch.Tensor, **_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        logits = torch.randn(1, 3, 257)
        logits[:, :, :32] = logits[:, :, 127:] = -torch.inf
        drawn = torch.multinomial(logits[0].softmax(-1), 1).T
        return torch.cat([input_ids, drawn], dim=1), logits

    def update_candidate_strategy(self, *_: Any) -> None:
        """Go on as before."""


def test_a_draft_that_nobody_marked_is_verified_by_marked_logits(
    toy: Encoder, toy_decoder: Decoder, config: CTWLWatermarkingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GenerationMixin, "_get_candidate_generator", lambda *_, **__: Drafts())
    asked = {"assistant_model": ITSELF, "temperature": 0.7, **SAMPLED, **LENGTH}
    assert toy_decoder.decode(write(toy, watermarking_config=config, **asked)).code == CODE


def test_an_assistant_that_has_a_say_is_refused(toy: Encoder, config: CTWLWatermarkingConfig) -> None:
    asked = {"assistant_model": ITSELF, "assistant_ensemble_weight": 0.5, **SAMPLED, "max_new_tokens": 2}
    with pytest.raises(StrategyUnsuitable, match="assistant_ensemble_weight"):
        write(toy, watermarking_config=config, **asked)


def test_a_place_among_the_processors_is_judged_where_the_model_itself_writes(toy: Encoder) -> None:
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODE,))], strategy="race")
    given = {"logits_processor": LogitsProcessorList([processor]), "assistant_model": ITSELF, **SAMPLED}
    with pytest.raises(StrategyUnsuitable, match=r"has to run after .*LogitsWarper"):
        write(toy, **given, temperature=0.7, max_new_tokens=12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo detected:UserWarning")
def test_generate_may_be_compiled(toy: Encoder, toy_decoder: Decoder, config: CTWLWatermarkingConfig) -> None:
    compiled = SimpleNamespace(generate=torch.compile(toy.model.generate, backend="eager"))
    text = write(toy, model=compiled, watermarking_config=config, **SAMPLED, **LENGTH)
    assert toy_decoder.decode(text).code == CODE


def test_drafts_by_another_tokenizer_are_refused(toy: Encoder, config: CTWLWatermarkingConfig) -> None:
    """transformers runs the processors of the model on the assistant's logits, whose tokens are others."""
    tokenizer = load_tokenizer("smollm2")
    end = tokenizer.eos_token_id
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    other = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), eos_token_id=end, pad_token_id=end, **shape))
    with pytest.raises(TokenizerUnsupported, match="another model's"):
        write(
            toy, watermarking_config=config, assistant_model=other, tokenizer=toy.tokenizer,
            assistant_tokenizer=tokenizer, **SAMPLED, max_new_tokens=12,
        )  # fmt: skip


def test_a_text_after_embeddings_is_marked(toy: Encoder, toy_decoder: Decoder, config: CTWLWatermarkingConfig) -> None:
    embedded = toy.model.get_input_embeddings()(toy.tokenizer([PROMPT], return_tensors="pt")["input_ids"])
    torch.manual_seed(11)
    ids = toy.model.generate(
        inputs_embeds=embedded, watermarking_config=config, pad_token_id=toy.tokenizer.pad_token_id, **SAMPLED, **LENGTH
    )
    assert toy_decoder.decode(toy.tokenizer.decode(ids[0], skip_special_tokens=True)).code == CODE


def test_the_text_of_an_encoder_decoder_is_marked(
    toy: Encoder, toy_decoder: Decoder, config: CTWLWatermarkingConfig
) -> None:
    torch.manual_seed(1)
    end = toy.tokenizer.eos_token_id
    shape = dict.fromkeys(("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 1)
    model = BartForConditionalGeneration(
        BartConfig(
            d_model=8, vocab_size=len(toy.tokenizer), encoder_ffn_dim=8, decoder_ffn_dim=8, eos_token_id=end,
            pad_token_id=end, bos_token_id=end, decoder_start_token_id=end, forced_eos_token_id=None, **shape,
        )
    ).eval()  # fmt: skip
    asked = {"suppress_tokens": toy.model.generation_config.suppress_tokens, "temperature": 0.8, **SAMPLED, **LENGTH}
    ids = model.generate(
        toy.tokenizer([PROMPT], return_tensors="pt")["input_ids"], watermarking_config=config, forced_eos_token_id=None,
        **asked,
    )  # fmt: skip
    assert toy_decoder.decode(toy.tokenizer.decode(ids[0, 1:], skip_special_tokens=True)).code == CODE


@pytest.mark.parametrize("strategy", [strategy for strategy in Strategy if strategy.keeps_distribution])
@pytest.mark.parametrize(
    "asked", [{}, {"num_beams": 2}, {**SAMPLED, "num_beams": 2}, {"prompt_lookup_num_tokens": 3}], ids=str
)
def test_a_strategy_that_needs_sampling_is_refused_without_it(
    toy: Encoder, strategy: str, asked: dict[str, Any]
) -> None:
    config = CTWLWatermarkingConfig(codes=[CODE], strategy=strategy, profile=PROFILE).attach(toy.bridge)
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODE,))], strategy=strategy)
    for given in (
        {"watermarking_config": config},
        {"watermarking_config": WatermarksInTurn(config)},
        {"watermarking_config": ProcessorConfig(processor)},
        {"logits_processor": LogitsProcessorList([processor])},
    ):
        with pytest.raises(StrategyUnsuitable, match="do_sample=True and num_beams=1"):
            write(toy, **given, **asked, max_new_tokens=12)


def loop_of_the_caller(model: Any, input_ids: Any, logits_processor: Any, generation_config: Any, **_: Any) -> Any:
    """A way of choosing tokens that transformers does not know: always the likeliest."""
    for _step in range(generation_config.max_new_tokens):
        scores = logits_processor(input_ids, model(input_ids).logits[:, -1].float())
        input_ids = torch.cat([input_ids, scores.argmax(dim=1, keepdim=True)], dim=1)
    return input_ids


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"penalty_alpha": 0.6, "top_k": 4},
        {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
        {"num_beams": 2, "force_words_ids": [[5]]},
        {"dola_layers": "low"},
    ],
    ids=["own", "contrastive", "groups of beams", "constrained", "DoLa"],
)
def test_in_a_loop_of_the_callers_the_strategy_has_to_be_named(
    toy: Encoder, toy_decoder: Decoder, config: CTWLWatermarkingConfig, asked: dict[str, Any]
) -> None:
    """transformers takes the loops of the other ways from its hub; the loop here stands for them."""
    given = {"custom_generate": loop_of_the_caller, "repetition_penalty": 1.3, **asked, **LENGTH}
    with pytest.raises(SamplingUnknown, match="name one") as refused:
        write(toy, watermarking_config=config, **given)
    assert refused.value.code == "sampling-unknown"
    if not asked:
        named = config.model_copy(update={"strategy": Strategy.DELTA})
        assert toy_decoder.decode(write(toy, watermarking_config=named, **given)).code == CODE


def test_a_way_of_generating_that_is_new_is_not_guessed(
    toy: Encoder, config: CTWLWatermarkingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_KNOWN", ())
    with pytest.raises(SamplingUnknown):
        write(toy, watermarking_config=config, **SAMPLED, max_new_tokens=2)


def test_outside_of_generate_the_strategy_has_to_be_named(config: CTWLWatermarkingConfig) -> None:
    with pytest.raises(SamplingUnknown):
        config.construct_processor(257, "cpu")


def test_a_loop_of_one_s_own_is_not_taken_for_generate(toy: Encoder) -> None:
    generation_config = GenerationConfig()  # greedy, and not what this loop does
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODE,))], strategy="race")
    processor(torch.tensor([[1, 2]]), torch.randn(1, toy.model.config.vocab_size))
    assert not generation_config.do_sample


@pytest.mark.parametrize("kind", ["config", "processor", "in turn", "logits processor"])
def test_continuous_batching_is_refused(toy: Encoder, config: CTWLWatermarkingConfig, kind: str) -> None:
    """It would drop the mark with a line in a log, or without."""
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODE,))], strategy="race")
    of_a_config = {"config": config, "processor": ProcessorConfig(processor), "in turn": WatermarksInTurn(config)}
    listed = {"logits_processor": LogitsProcessorList([processor])}
    given = {"watermarking_config": of_a_config[kind]} if kind in of_a_config else listed
    with pytest.raises(StrategyUnsuitable, match="continuous batching"):
        write(toy, **given, cache_implementation="paged", do_sample=True, max_new_tokens=2)
    with pytest.raises(StrategyUnsuitable, match="continuous batching"):
        toy.model.generate_batch([[1, 2]], **given)


@pytest.mark.parametrize("where", ["call", "model"])
@pytest.mark.parametrize("kept", [False, True], ids=["a new manager", "one that is kept"])
@pytest.mark.parametrize(
    "way", [name for name in vars(ContinuousMixin) if name[0] != "_" and not name.startswith("destroy")]
)
def test_a_generation_config_with_a_watermark_is_refused_by_continuous_batching(
    toy: Encoder, config: CTWLWatermarkingConfig, monkeypatch: pytest.MonkeyPatch, where: str, kept: bool, way: str
) -> None:
    model = LlamaForCausalLM(toy.model.config).eval()
    if kept:
        manager = object.__new__(ContinuousBatchingManager)  # as `persistent_manager=True` leaves it
        monkeypatch.setattr(model, "_cached_continuous_batching_manager", manager, raising=False)
    marked, given = GenerationConfig(watermarking_config=config), GenerationConfig()
    if where == "model":
        model.generation_config = marked
    else:
        given = marked
    prompts = [[[1, 2]]] if way == "generate_batch" else []
    with pytest.raises(StrategyUnsuitable, match="continuous batching"):
        begun = getattr(model, way)(*prompts, generation_config=given)
        begun.__enter__()  # a context manager begins when it is entered


class OwnWay(DiffusionGemmaGenerationMixin, torch.nn.Module):  # type: ignore[misc]
    """As little of a model that denoises blocks as its ``generate`` needs to begin."""

    config = SimpleNamespace(canvas_length=4, image_token_id=0)

    def __init__(self, generation_config: GenerationConfig) -> None:
        super().__init__()
        self.generation_config = generation_config


@pytest.mark.parametrize("where", ["keyword", "generation_config", "model"])
def test_a_model_that_makes_no_processors_is_refused(config: CTWLWatermarkingConfig, where: str) -> None:
    plain, marked = DiffusionGemmaGenerationConfig(), GenerationConfig(watermarking_config=config)
    model = OwnWay(marked if where == "model" else plain)
    given = {
        "keyword": {"watermarking_config": config},
        "generation_config": {"generation_config": marked},
        "model": {},
    }
    with pytest.raises(StrategyUnsuitable, match="OwnWay generates in a way of its own"):
        model.generate(torch.tensor([[1, 2]]), **given[where])


@pytest.mark.parametrize(
    ("asked", "by"),
    [
        ({"top_k": 1}, "TopK"),
        ({"top_p": 0.0}, "TopP"),
        ({"top_p": 1e-6}, "TopP"),
        ({"min_p": 1.0}, "MinP"),
        ({"typical_p": 1e-3}, "Typical"),
        ({"epsilon_cutoff": 0.9}, "Epsilon"),
        ({"top_h": 1e-3}, "TopH"),
        ({"temperature": 1e-6}, "Temperature"),
        ({"top_k": 3, "top_p": 0.3}, "TopP"),
    ],
    ids=str,
)
def test_one_candidate_is_no_choice(
    toy: Encoder, config: CTWLWatermarkingConfig, asked: dict[str, float], by: str
) -> None:
    with pytest.raises(StrategyUnsuitable, match=f"{by}LogitsWarper leaves one token"):
        write(toy, watermarking_config=config, do_sample=True, **asked, max_new_tokens=2)


@pytest.mark.parametrize(
    "asked",
    [
        {"top_k": 2}, {"top_p": 0.1}, {"min_p": 0.9}, {"typical_p": 0.1}, {"epsilon_cutoff": 0.3}, {"eta_cutoff": 0.5},
        {"top_h": 0.1}, {"temperature": 0.2},
    ],
    ids=str,
)  # fmt: skip
def test_a_cut_that_may_leave_a_choice_is_none_to_refuse(
    toy: Encoder, config: CTWLWatermarkingConfig, asked: dict[str, float]
) -> None:
    write(toy, watermarking_config=config, **{**SAMPLED, **asked}, max_new_tokens=2)


class Best(LogitsProcessor):  # type: ignore[misc]
    """Leaves the likeliest token, as a grammar or a processor of somebody else may."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return scores.where(scores == scores.amax(dim=1, keepdim=True), -torch.inf)


def test_a_text_without_any_choice_is_warned_of(toy: Encoder, config: CTWLWatermarkingConfig) -> None:
    given = {"logits_processor": LogitsProcessorList([Best()]), "watermarking_config": config, **SAMPLED}
    with pytest.warns(FaintText, match="the first 32 tokens"):
        write(toy, **given, max_new_tokens=40, min_new_tokens=40)
    write(toy, **given, max_new_tokens=31)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("asked", [{"temperature": 0.7}, {"top_p": 0.9}, {}], ids=str)
def test_nothing_cuts_into_what_a_plain_processor_has_marked(
    toy: Encoder, strategy: Strategy, asked: dict[str, float]
) -> None:
    """The text would be drawn from another distribution than the one that the caller asked for."""
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODE,))], strategy=strategy)
    given = {"logits_processor": LogitsProcessorList([processor]), **SAMPLED, **asked, "max_new_tokens": 2}
    if not strategy.keeps_distribution or not asked:
        write(toy, **given)
        return
    with pytest.raises(StrategyUnsuitable, match=r"has to run after .*LogitsWarper; pass watermarking_config="):
        write(toy, **given)


def test_a_call_that_is_too_short_is_warned_of_for_its_own_sampling(
    toy: Encoder, config: CTWLWatermarkingConfig
) -> None:
    said = f"max_new_tokens is 80; a reader needs about {config.needed_tokens(0.7)} tokens .* race at temperature 0.7"
    with pytest.warns(ShortText, match=said):
        write(toy, watermarking_config=config, **SAMPLED, temperature=0.7, **LENGTH)
    with pytest.warns(ShortText, match="max_length is 80"):
        write(toy, watermarking_config=config, max_length=80, **SAMPLED, temperature=0.7)


def test_the_tokens_that_are_needed_are_for_a_sampling() -> None:
    config = CTWLWatermarkingConfig(profile="org.ctwl.smollm2-135m.1")
    race = [config.needed_tokens(temperature) for temperature in (0.3, 0.7, 0.9, 1.0)]
    assert race == sorted(race, reverse=True) and race[0] > 5000 and race[-1] < 100
    assert config.needed_tokens(1.5) == race[-1]
    assert config.needed_tokens(0.0) == needed_tokens(get_profile(config.profile), Strategy.DELTA, temperature=0.0)
    for temperature, share in ((1.0, 0.5), (0.7, 0.8)):  # the defaults there
        named = CTWLWatermarkingConfig(profile="org.ctwl.smollm2-135m.1", strategy="race", share=share)
        assert named.needed_tokens(temperature) == config.needed_tokens(temperature)
    shares = [
        CTWLWatermarkingConfig(profile="org.ctwl.smollm2-135m.1", strategy="race", share=share).needed_tokens(1.0)
        for share in (0.1, 0.3, 0.5, 0.7, 0.95)
    ]
    assert shares == sorted(set(shares), reverse=True) and shares[0] > 3 * shares[2]
    with pytest.raises(StrategyUnsuitable):
        CTWLWatermarkingConfig(strategy="race").needed_tokens(0)
