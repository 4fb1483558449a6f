"""In which languages does a reader find what an instruct model writes?

A model is asked for articles in several languages, each question in the language itself, and answers once with a mark,
by the default share for the temperature, and once without. The texts are read for their registered provider, at the
default level, by the proxy LM and by the model that wrote them, without the prompt. The proxy LM learned English above
all, and has more tokens for a word of other languages.

Stated for each language: how many marked texts each reader finds, how many the encoder foretells to be found by the
proxy LM, and how many unmarked texts have small p-values.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper

from ..shared import real_models
from ..shared.answers import Writing
from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate, small_p_values
from ..shared.readers import reader
from ..shared.texts import Nucleus
from .ladder import kept, readers

ASKED = {
    "English": "Write an article of about 400 words about {0}.",
    "German": "Schreibe einen Artikel von etwa 400 Wörtern über {0}.",
    "French": "Écris un article d'environ 400 mots sur {0}.",
    "Spanish": "Escribe un artículo de unas 400 palabras sobre {0}.",
    "Polish": "Napisz artykuł o długości około 400 słów na temat: {0}.",
    "Vietnamese": "Hãy viết một bài báo khoảng 400 từ về {0}.",
    "Russian": "Напиши статью объёмом около 400 слов на тему: {0}.",
    "Arabic": "اكتب مقالاً من حوالي 400 كلمة عن {0}.",
    "Chinese": "请写一篇大约600字的文章，介绍{0}。",
    "Japanese": "{0}について、およそ800字の記事を書いてください。",
}
SUBJECTS = {
    "English": "a market town;a lighthouse;the history of bread;a long winter;a railway;bees;an old library;a river",
    "German": "eine Marktstadt;einen Leuchtturm;die Geschichte des Brotes;einen langen Winter;eine Eisenbahn;Bienen;"
    "eine alte Bibliothek;einen Fluss",
    "French": "une ville de marché;un phare;l'histoire du pain;un long hiver;un chemin de fer;les abeilles;"
    "une vieille bibliothèque;une rivière",
    "Spanish": "un pueblo con mercado;un faro;la historia del pan;un invierno largo;un ferrocarril;las abejas;"
    "una biblioteca antigua;un río",
    "Polish": "miasteczko targowe;latarnia morska;historia chleba;długa zima;kolej;pszczoły;stara biblioteka;rzeka",
    "Vietnamese": "một thị trấn chợ;một ngọn hải đăng;lịch sử bánh mì;một mùa đông dài;đường sắt;loài ong;"
    "một thư viện cũ;một dòng sông",
    "Russian": "ярмарочный город;маяк;история хлеба;долгая зима;железная дорога;пчёлы;старая библиотека;река",
    "Arabic": "مدينة تجارية;منارة;تاريخ الخبز;شتاء طويل;السكك الحديدية;النحل;مكتبة قديمة;نهر",
    "Chinese": "集市小镇;灯塔;面包的历史;漫长的冬天;铁路;蜜蜂;古老的图书馆;一条河",
    "Japanese": "市場の町;灯台;パンの歴史;長い冬;鉄道;ミツバチ;古い図書館;川",
}
LEVELS = (0.05, 0.01, 1e-3)


def unmarked(
    model: str, prompts: tuple[str, ...], temperature: float, top_p: float, tokens: int, seed: int
) -> list[str]:
    """What a model writes for prompts without a mark."""
    causal, tokenizer = real_models.load(model)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    torch.manual_seed(seed)
    given = tokenizer(list(prompts), return_tensors="pt", padding=True)
    written = causal.generate(
        **given, do_sample=True, temperature=1.0, top_p=1.0, top_k=0, max_new_tokens=tokens,
        logits_processor=LogitsProcessorList([TemperatureLogitsWarper(temperature), Nucleus(top_p)]),
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    texts: list[str] = tokenizer.batch_decode(written[:, given["input_ids"].shape[1] :], skip_special_tokens=True)
    return texts


@experiment(
    quick={"texts": 1, "tokens": 60, "model": "smollm2", "batch": 7},
    texts=8, tokens=200, model="qwen2.5-coder-0.5b", temperature=0.7, top_p=0.95, seed=1, batch=28,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    public, model = reader(), options.model
    questions = [
        (language, asked.format(subject))
        for language, asked in ASKED.items()
        for subject in SUBJECTS[language].split(";")[: options.texts]
    ]
    prompts = real_models.chat(model, [question for _, question in questions])
    writing = Writing(model, options.temperature, options.top_p, options.tokens, seed=options.seed, batch=options.batch)
    answers = writing.answers(prompts)
    marked = [(answer.whole.text, answer.whole.beacon.code) for answer in answers]
    foretold = np.array([answer.whole.chance_found for answer in answers])
    plain = list[str]()
    for start in tracked(range(0, len(prompts), options.batch), "without a mark"):
        some = tuple(prompts[start : start + options.batch])
        how = model, some, options.temperature, options.top_p, options.tokens, options.seed + start
        plain += recalled(partial(unmarked, *how), "languages", sources(__file__), *how)
    languages = np.array([language for language, _ in questions])
    rows = {language: dict[str, Any]() for language in ASKED}
    alarms = []
    for name, read in readers(public, [model]):
        if name == "ranks":
            continue
        found = np.array([kept(name, read, text)[0] == code for text, code in tracked(marked, f"marked, by {name}")])
        p_values = np.array([kept(name, read, text)[1] for text in tracked(plain, f"unmarked, by {name}")])
        for language, row in rows.items():
            here = languages == language
            row[name] = rate(int(found[here].sum()), int(here.sum()))
            row["foretold"] = round(float(foretold[here].sum()), 1)
        alarms.append({"reader": name, "texts": len(plain), **small_p_values(p_values, LEVELS)})
    for language, row in rows.items():
        texts = [text for (text, _), here in zip(marked, languages == language, strict=True) if here]
        row["proxy tokens"] = round(float(np.mean([len(public.tokenizer.encode(text)) for text in texts])), 1)
    return {"rows": [{"language": language, **row} for language, row in rows.items()], "unmarked": alarms}


if __name__ == "__main__":
    main()
