"""What the reference reads in texts of many forms, for the tests of this package: writes parity.json beside itself."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

from ctwl_decoder import Decoder
from ctwl_decoder.text.variants import variants_of
from ctwl_protocol.registry import bundled

HERE = Path(__file__).parent
MARKED, HUMAN = ((HERE.parent / "page" / "examples" / f"{name}.txt").read_text("utf-8") for name in ("marked", "human"))

LINKED = "- _item_ [words](https://example.com/x)\n- `code`\n\n---"

FORMS = {
    "marked": MARKED,
    "wrapped": textwrap.fill(MARKED, 70),
    "justified": textwrap.fill(MARKED, 70).replace(" the ", "   the "),
    "wrapped paragraphs": "\n".join(textwrap.fill(part, 60) for part in textwrap.wrap(MARKED, 300)) + f"\n{'x' * 90}",
    "divided words": textwrap.fill(MARKED, 60).replace("ing\n", "i-\nng ").replace("the\n", "th-\ne "),
    "a list of words": "\n".join(MARKED.split()),
    "ligatures": MARKED.replace("fi", "\ufb01").replace("ff", "\ufb00"),
    "capitals": MARKED.upper(),
    "a capital in each word": re.sub(r"\b[a-z]", lambda found: found[0].upper(), f"NASA I said. {MARKED}"),
    "other capitals": "ÜBER DEN FLÜSSEN. ΌΣΟΣ ΚΑΙ İZMİR STRASSE; «ЧТО ДЕЛАТЬ?» I'M 4TH ①A Ⅷ " * 4,
    "quoted mail": "\n".join(f"> {line}" for line in textwrap.wrap(MARKED, 60)),
    "html": "".join(f"<p>{part} &amp; <b>more</b></p>\n" for part in textwrap.wrap(MARKED, 300)).replace(
        "our", "&#111;ur"
    ),
    "page": f"<html><head><title>x</title><script>if (a < b) c()</script></head><body>{MARKED}<br>&copy 2026 "
    "&#8364;&notit;<!-- not > shown --><ul><li>one</li><li>two</li></ul></body></html>",
    "markdown": f"# Title\n\n**{MARKED[:300]}**\n\n{LINKED}\n\n{MARKED[300:]}",
    "joiners": MARKED.replace(" of ", " o\u200df "),
    "pasted": MARKED.replace(" ", "\u00a0", 20).replace("\n", "\r\n") + "\u200b\u2028",
    "human": HUMAN,
    "other scripts": "“£16” Übermäßig naïve façade, Владимир пишет, 東京は大きい, "
    "١٢٣ ४५६ ½ Ⅷ 你好123世界, 👍🏽 e\u0301 " * 6,
    "code": "for (let i = 0; i < 10; i++) {\n\tconsole.log(`${i} ** 2 = ${i ** 2}`);\n}\n" * 8,
    "numbers": " ".join(str(n * n * 7919) for n in range(60)),
    "words like tags": "Le modèle écrit <période> puis\nune ligne courte.\n\nEncore <période> et *la* fin.",
    "marks of class 0": "a" + "\u0f73" * 300,
    "few words": " ".join(HUMAN.split()[80:100]),  # best read as a record of several codes
    "short": "Hello.",
    "nothing": "",
}


def main() -> None:
    """Read each form by the light scores."""
    decoder = Decoder.open("org.ctwl.smollm2-135m.1", registry=bundled())
    rows = []
    for name, text in FORMS.items():
        report = decoder.decode(text, score="light")
        kept = ("outcome", "code", "p_value", "score", "hits", "expected", "scored", "tokens", "needed", "form")
        rows.append(
            {
                "name": name,
                "text": text,
                "variants": [[form, variant.text] for form, variant in variants_of(text)],
                "report": {field: getattr(report, field) for field in kept},
                "spans": [[span.start, span.end, span.code, span.p_value] for span in report.spans],
            }
        )
    (HERE / "parity.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
