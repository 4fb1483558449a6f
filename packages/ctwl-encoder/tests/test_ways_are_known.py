"""The ways of generating that transformers has, listed from its own code: a new one fails here until it is tried.

``test_ways_of_generating`` tries them. What a name below stands for is marked there, or refused, or a comment says why
it is neither.
"""

import ast
import inspect
from pathlib import Path

import transformers
from transformers import GenerationConfig
from transformers.generation import (
    ContinuousMixin,
    GenerationMixin,
    GenerationMode,
    candidate_generator,
    logits_process,
    utils,
)

from ctwl_encoder.integrations.transformers import sampling

MODELS = Path(transformers.__file__).parent / "models"

IN_A_LOOP_FROM_THE_HUB = {"contrastive_search", "dola_generation", "constrained_beam_search", "group_beam_search"}
"""Modes that are refused where no strategy is named."""

METHODS = {
    "generate",
    "generate_batch init_continuous_batching continuous_batching_context_manager",  # refused
    # these write no text
    "heal_tokens compute_transition_scores prepare_inputs_for_generation adjust_generation_fn load_custom_generate",
    "output_modalities destroy_cached_continuous_batching_manager",
}

ARGUMENTS = {
    "self inputs generation_config",  # what is given to all
    "logits_processor prefix_allowed_tokens_fn negative_prompt_ids negative_prompt_attention_mask",  # before the mark
    "stopping_criteria streamer synced_gpus",  # after the choice
    "assistant_model custom_generate kwargs",  # ways, and the fields below
}

FIELDS = {
    # how tokens are chosen: these make the mode, or refuse
    "do_sample num_beams use_mtp assistant_early_exit prompt_lookup_num_tokens is_assistant assistant_ensemble_weight",
    "penalty_alpha dola_layers num_beam_groups constraints force_words_ids watermarking_config",
    # how an assistant drafts, whose drafts are verified by marked logits
    "num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold max_matching_ngram_size",
    "assistant_lookbehind target_lookbehind speculation_type",
    # logits before the mark
    "temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff repetition_penalty sequence_bias",
    "encoder_repetition_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids min_length",
    "min_new_tokens forced_bos_token_id forced_eos_token_id remove_invalid_values guidance_scale",
    "exponential_decay_length_penalty suppress_tokens begin_suppress_tokens diversity_penalty",
    # logits after the mark: a constant is added
    "renormalize_logits",
    # beams, among texts that are marked alike
    "early_stopping length_penalty num_return_sequences low_memory",
    # the end of the text, and its beginning
    "max_length max_new_tokens max_time stop_strings token_healing",
    "pad_token_id bos_token_id eos_token_id decoder_start_token_id",
    # how it is computed, and what is told of it
    "use_cache cache_implementation cache_config max_cache_len prefill_chunk_size compile_config disable_compile",
    "continuous_batching_config output_attentions output_hidden_states output_scores output_logits",
    "return_dict_in_generate transformers_version _from_model_config",
}

DRAFTING = {
    "AssistedCandidateGenerator PromptLookupCandidateGenerator EarlyExitCandidateGenerator",  # tried
    "AssistedCandidateGeneratorDifferentTokenizers UniversalSpeculativeDecodingGenerator",  # tried: refused
    "SinglePositionMultiTokenCandidateGenerator MTPCandidateGenerator DFlashTokenCandidateGenerator",  # as `Drafts`
}

CUTS = "Temperature TopP TopK TopH MinP Typical Epsilon Eta"

OWN_LOOPS = {
    # generate with no call of transformers' own, which makes the processors
    "diffusion_gemma",  # refused
    # no words of a language model: time series, speech and music, and transcripts that are not drawn
    "autoformer informer patchtsmixer patchtst time_series_transformer speecht5",
    "granite_speech5 lasr parakeet",
}


def names(lines: set[str]) -> set[str]:
    return set(" ".join(lines).split())


def test_each_mode_is_marked_or_refused() -> None:
    assert {mode.value for mode in sampling._KNOWN} | IN_A_LOOP_FROM_THE_HUB == {each.value for each in GenerationMode}
    from_the_hub = {mode.value for mode, loop in utils.GENERATION_MODES_MAPPING.items() if "/" in loop}
    assert from_the_hub == IN_A_LOOP_FROM_THE_HUB


def test_each_method_that_generates_is_tried() -> None:
    public = {name for mixin in (GenerationMixin, ContinuousMixin) for name in vars(mixin) if name[0] != "_"}
    assert public == names(METHODS)


def test_each_argument_and_field_is_known() -> None:
    assert set(inspect.signature(GenerationMixin.generate).parameters) == names(ARGUMENTS)
    assert set(vars(GenerationConfig())) == names(FIELDS)


def test_each_way_of_drafting_and_of_cutting_is_tried() -> None:
    base = candidate_generator.CandidateGenerator
    classes = [each for each in vars(candidate_generator).values() if inspect.isclass(each)]
    assert {each.__name__ for each in classes if issubclass(each, base) and each is not base} == names(DRAFTING)
    warpers = {name.removesuffix("LogitsWarper") for name in vars(logits_process) if name.endswith("LogitsWarper")}
    assert warpers == names({CUTS})


def own_loop(path: Path) -> bool:
    """Whether a module has a ``generate`` of its own, and nothing in it calls what makes processors of a config."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    called = {each.func.attr for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)}
    defined = {each.name for each in nodes if isinstance(each, ast.FunctionDef)}
    return "generate" in defined and not called & {"generate", "_get_logits_processor"}


def test_each_loop_of_a_models_own_is_known() -> None:
    files = [path for path in MODELS.glob("*/*.py") if "def generate(" in path.read_text(encoding="utf-8")]
    assert len(files) > 20
    found = {path.parent.name for path in files if not path.name.startswith("modular_") and own_loop(path)}
    assert found == names(OWN_LOOPS)
