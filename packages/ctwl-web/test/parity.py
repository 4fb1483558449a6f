"""What the reference reads in texts of many forms, for the tests of this package.

Writes parity.json (by one profile) and profiles.json (by all published ones) beside itself.
"""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from pathlib import Path

from ctwl_decoder import Decoder, Decoders
from ctwl_decoder.text.variants import variants_of
from ctwl_protocol.registry import bundled

HERE = Path(__file__).parent
MARKED, HUMAN = ((HERE.parent / "page" / "examples" / f"{name}.txt").read_text("utf-8") for name in ("marked", "human"))

OTHERS = json.loads((HERE.parents[1] / "ctwl-decoder" / "tests" / "marked.json").read_text("utf-8"))["texts"]

LINKED = "- _item_ [words](https://example.com/x)\n- `code`\n\n---"

LIST = " ".join(MARKED.split()[:56])
"""So few contexts that the light scores ask for more than the level."""

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
    "pictures": f"![one](data:image/png;base64,{'Ab3/' * 300}) {MARKED} [1]: <data:;base64,{'Ab3-' * 300}=>",
    "joiners": MARKED.replace(" of ", " o\u200df "),
    "variation selectors": "".join(
        f"{c}{s}" for c, s in zip(MARKED, itertools.cycle("\ufe00\ufe0f\U000e0100\U000e01ef"))
    ),
    "marks of other kinds": MARKED.replace(" the ", " t\u200b\u034f\u2060\u200bhe ").replace(
        ".", ".\U000e0041\U000e007f"
    )
    + "\ufeff"
    + "".join(chr(0xFE00 + byte % 16) for byte in range(40)),
    "pasted": MARKED.replace(" ", "\u00a0", 20).replace("\n", "\r\n") + "\u200b\u2028",
    "human": HUMAN,
    "other scripts": "“£16” Übermäßig naïve façade, Владимир пишет, 東京は大きい, "
    "١٢٣ ४५६ ½ Ⅷ 你好123世界, 👍🏽 e\u0301 " * 6,
    "code": "for (let i = 0; i < 10; i++) {\n\tconsole.log(`${i} ** 2 = ${i ** 2}`);\n}\n" * 8,
    "numbers": " ".join(str(n * n * 7919) for n in range(60)),
    "words like tags": "Le modèle écrit <période> puis\nune ligne courte.\n\nEncore <période> et *la* fin.",
    "marks of class 0": "a" + "\u0f73" * 300,
    "a column": "\n".join(textwrap.wrap(MARKED, 31)).replace("ill", "i\u2028ll"),
    "blank lines between lines": "\n\n".join(textwrap.wrap(MARKED, 40)),
    "other line ends": "\x0b".join(textwrap.wrap(MARKED, 40)).replace(" the ", "\tthe "),
    "links": re.sub(r"(\w{5,})", r"[\1](https://example.org/a_(b) 't') \1<https://example.org/>[^1]", MARKED[:400])
    + " See www.example.org/a,b. [by name][1] [1] [alone]\n\n[1]: https://example.org 'x'\n[^1]: a note\n",
    "html in markdown": "# <i>T</i>\n\n- **[<b>a</b>](b)** &amp;nbsp; x<br/>\n> > - <p>y\n\nz</p> " + MARKED[:300],
    "markdown in html": "<div>\n# A\n\n- **b**\n- &lt;i&gt;c&lt;/i&gt;\n<p>" + MARKED[:300] + "</p>\n</div><br><br>x",
    "wiki and board": "== A ==\n''b'' [[c|d]] [[File:e|f]] {{g|h}} [b]i[/b] [img]j[/img] [url=k]l[/url]\n{|\n|-\n| m",
    "latex": r"\section{A}\emph{\textbf{b}} ``c''~d -- e --- f \% \$5 \cite{g} \href{h}{i} \dots{} \\ j `k'",
    "string": r"He said \"a\" \u2014 b \ud83d\ude00 \n\n<b>c<\/b> \t \\n \u0000 \ud83d",
    "chat": "[12/05/2024, 14:33:12] Ann: *a* ~b~ ||c||\n1/2/24, 10:33 PM - Bob Lee: d\nBob  10:33 AM\n<@U1> <http://e|f>",
    "terminal and notes": "\x1b[1;31ma\x1b[0m [32mb[0m c\ue200cite\ue202d\ue201 e【4†f】 g¹ h[1, 2]",
    "styled": "𝐀𝒃ℂⓓ Ｆｕｌｌ， ｗｉｄｅ！ 中，文 ﬁ 1２",
    "invisible": re.sub(r"(?<=\w)(?=\s)", "\u3164\U0001d173\ue000\x01", MARKED),
    "blanks for spaces": MARKED.replace(" ", "\u2800"),
    "look-alikes": MARKED.replace("a", "\u0430").replace("o", "\u03bf").replace("s", "\ua731").replace("i", "\u0131"),
    "stops and commas of others": MARKED.replace(".", "\u2024").replace(",", "\ua4f9"),
    "signs that stand for commas": MARKED.replace(",", "\u201a").replace(".", "\u0964"),
    "odd accents": re.sub(r"(?<=[a-z])(?=\s)", "\u0323", MARKED).replace("i", "i\u0307"),
    "turned": re.sub(r"\w+", lambda found: f"\u202e{found[0][::-1]}\u202c", MARKED),
    "words turned": "\u2067" + " \u200f".join(reversed(MARKED.split())) + "\u2069",
    "words cut": re.sub(r"(\w)(\w)", "\\1\u200a\\2", MARKED),
    "circled": "".join(chr(ord(sign) + 0x246F) if "a" <= sign <= "z" else sign for sign in MARKED),
    "own accents": "Ị ga-abịa n'ụlọ anyị. Tiếng Việt ngày nọ. ọ ụ ị " * 4,
    "another code in a comment": f"<!-- {OTHERS[2]} -->\n\n{OTHERS[1]}",
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
                "hidden": [each.model_dump(exclude={"says"}) for each in report.hidden],
                "report": {field: getattr(report, field) for field in kept},
                "spans": [[span.start, span.end, span.code, span.p_value] for span in report.spans],
            }
        )
    (HERE / "parity.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    by_profiles()


def by_profiles() -> None:
    """Read some texts by the light scores of all published profiles."""
    decoders, rows = Decoders.open(registry=bundled()), []
    for name in ("marked", "human", "list", "short"):
        text = LIST if name == "list" else FORMS[name]
        report = decoders.decode(text, score="light")
        kept = ("outcome", "profile", "code", "p_value", "alpha")
        held = report.held_back and report.held_back.model_dump(include={"rule", "needed", "contexts"})
        tried = [each.model_dump(include={"name", "read", "outcome", "p_value"}) for each in report.profiles]
        rows.append({"name": name, "text": text, "report": {field: getattr(report, field) for field in kept}})
        rows[-1] |= {"held_back": held, "profiles": tried}
    (HERE / "profiles.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
