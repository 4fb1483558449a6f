"""Files of many kinds with one text in each, as the programs of people write them."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import quopri
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from email.message import EmailMessage
from html import escape
from typing import Any, Literal

_TYPES = "<?xml version='1.0'?><Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>"
_WORD = "<w:p><w:r><w:t xml:space='preserve'>{}</w:t></w:r></w:p>"


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return found.getvalue()


def paragraphs(text: str, form: str) -> str:
    """Each line of a text in a form."""
    return "".join(form.format(escape(line)) for line in text.split("\n"))


def office(parts: Mapping[str, str | bytes]) -> bytes:
    """A document of Office of some parts."""
    return packed({"[Content_Types].xml": _TYPES, **parts})


def docx(text: str, more: str = "") -> bytes:
    document = f"<w:document xmlns:w='w'><w:body>{paragraphs(text, _WORD)}{more}</w:body></w:document>"
    return office({"word/document.xml": document})


def pptx(text: str) -> bytes:
    slide = "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>"
    shown = enumerate(filter(str.strip, text.split("\n")), 1)
    return office({f"ppt/slides/slide{number}.xml": slide.format(escape(line)) for number, line in shown})


def odf(body: str) -> bytes:
    content = f"<office:document-content xmlns:office='o' xmlns:text='t'>{body}</office:document-content>"
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def odt(text: str) -> bytes:
    return odf(paragraphs(text, "<text:p>{}</text:p>"))


def page(text: str) -> str:
    words = "".join(f"<p class='a'>{escape(line)}</p>\n" for line in text.split("\n") if line)
    head = "<head><title>News</title><style>p { color: red }</style><script>alert('<p>')</script></head>"
    return f"<!DOCTYPE html><html>{head}<body><nav hidden>Home | About</nav>{words}</body></html>"


def flat_odt(text: str) -> bytes:
    body = paragraphs(text, "<text:p>{}</text:p>")
    return f"<?xml version='1.0'?>\n<office:document xmlns:office='o' xmlns:text='t'>{body}</office:document>".encode()


def with_pictures(text: str) -> bytes:
    """A flat document with pictures, which have descriptions."""
    picture = "<draw:frame><draw:image><office:binary-data>QUJD</office:binary-data></draw:image><svg:desc>A</svg:desc>"
    return flat_odt(text).replace(b"</text:p>", f"{picture}</draw:frame></text:p>".encode())


def flat_office(text: str) -> bytes:
    parts = {"word/comments.xml": _WORD.format("No."), "word/document.xml": paragraphs(text, _WORD)}
    told = "".join(
        f'<pkg:part pkg:name="/{name}" x="y"><pkg:xmlData><w:body>{part}</w:body></pkg:xmlData></pkg:part>'
        for name, part in parts.items()
    )
    head = "<?xml version='1.0' standalone='yes'?>\n<?mso-application progid='Word.Document'?>\n"
    return f"{head}<pkg:package xmlns:pkg='p'>{told}</pkg:package>".encode()


def older_office(text: str) -> bytes:
    said = paragraphs(text, "<w:p><w:r><w:t>{}</w:t></w:r></w:p>")
    return f"<?xml version='1.0'?><w:wordDocument xmlns:w='w'><w:body>{said}</w:body></w:wordDocument>".encode()


def fb2(text: str) -> bytes:
    said = "".join(f"<p>{escape(line)}</p>" if line else "<empty-line/>" for line in text.split("\n"))
    told = "<description><title-info><annotation><p>No.</p></annotation></title-info></description>"
    book = f"{told}<body><section>{said}</section></body><binary id='a'>QUJD</binary>"
    return f"<?xml version='1.0'?><FictionBook xmlns='x'>{book}</FictionBook>".encode()


def office_with_parts(name: str, part: str | bytes) -> bytes:
    """A document whose words are in another part."""
    body = f"{name.partition('/')[0]}/{'document.xml' if name.startswith('word') else 'slides/slide1.xml'}"
    return office({body: "<a/>", name: part})


def with_part(document: bytes, name: str, part: str | bytes) -> bytes:
    """A document in a zip with one more part."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        return packed({each: archive.read(each) for each in archive.namelist()} | {name: part})


def xlsx(strings: str, cells: str = "") -> bytes:
    """A table of numbers, with some strings apart and some cells."""
    sheet = f"<worksheet><row><c r='A1' t='s'><v>0</v></c><c><v>42</v></c>{cells}</row></worksheet>"
    shared = "".join(f"<si><t>{escape(line)}</t></si>" for line in strings.split("\n") if line)
    return office({"xl/sharedStrings.xml": f"<sst>{shared}</sst>", "xl/worksheets/sheet1.xml": sheet})


def xlsx_of_cells(text: str) -> bytes:
    """Cells that a program wrote, and the result of a formula."""
    first, *others = filter(None, text.split("\n"))
    cells = f"<c t='str'><f>ASK(A1)</f><v>{escape(first)}</v></c>"
    return xlsx("", cells + "".join(f"<c t='inlineStr'><is><t>{escape(line)}</t></is></c>" for line in others))


def with_a_text_beside(text: str) -> dict[str, bytes]:
    """Documents of the word "Words" that have a text of one line where their words do not stand."""
    part, value = older_office(text), f'"{escape(text)}"'
    slide = "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:t>Words</a:t></a:p></p:sld>"
    comment = f"<p:cmLst xmlns:p='p'><p:cm><p:text>{escape(text)}</p:text></p:cm></p:cmLst>"
    shown = office({"ppt/slides/slide1.xml": slide})
    note = f"<office:annotation><text:p>{escape(text)}</text:p></office:annotation>"
    form = f"<office:forms><form:text xmlns:form='f' form:current-value={value}/></office:forms>"
    return {
        "word-art.docx": docx("Words", f"<w:p><v:textpath xmlns:v='v' string={value}/></w:p>"),
        "comment.docx": with_part(docx("Words"), "word/comments.xml", part),
        "pieces.docx": with_part(docx("Words"), "word/glossary/document.xml", part),
        "comment.pptx": with_part(shown, "ppt/comments/comment1.xml", comment),
        "master.pptx": with_part(shown, "ppt/slideMasters/slideMaster1.xml", part),
        "comment.xlsx": with_part(xlsx("Words"), "xl/comments1.xml", comment),
        "comment.fodt": flat_odt("Words").replace(b"</text:p>", f"{note}</text:p>".encode()),
        "form.fodt": flat_odt("Words").replace(b"<text:p>", f"{form}<text:p>".encode()),
        "frame.epub": with_part(epub("Words"), "OPS/frame.html", page(text)),
    }


def with_an_object(data: bytes) -> dict[str, bytes]:
    """Documents of the word "Words" with an object of some other program."""
    return {
        "object.docx": with_part(docx("Words"), "word/embeddings/oleObject1.bin", data),
        "object.odt": with_part(odt("Words"), "Object 1", data),
    }


def odt_with_notes(text: str) -> bytes:
    """A note after the first word of each paragraph; the notes come last."""
    told = "<text:note-citation>1</text:note-citation><text:note-body><text:p>See.</text:p></text:note-body>"
    note = f"<text:note>{told}</text:note>"
    return odf("".join(f"<text:p>{escape(line).replace(' ', f'{note} ', 1)}</text:p>" for line in text.split("\n")))


def docx_with_a_box(text: str) -> bytes:
    """A box with other words is anchored in the middle of the first paragraph."""
    first, _, rest = text.partition(" ")
    box = f"<w:txbxContent>{_WORD.format('In a box.')}</w:txbxContent>"
    anchored = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    one, _, others = rest.partition("\n")
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
    body = f"<w:p>{run.format(escape(first))}<w:r>{anchored}</w:r>{run.format(f' {escape(one)}')}</w:p>"
    notes = (
        f"<w:footnotes xmlns:w='w'>{'<w:footnote><w:p><w:r><w:separator/></w:r></w:p></w:footnote>' * 2}</w:footnotes>"
    )
    body += paragraphs(others, _WORD)
    document = f"<w:document xmlns:w='w' xmlns:mc='mc'><w:body>{body}</w:body></w:document>"
    return office({"word/document.xml": document, "word/footnotes.xml": notes})


def docx_of_chunks(text: str, part: str = "document") -> bytes:
    """Its text is a page that Word puts into it when it is opened."""
    related = "<Relationships><Relationship Id='a' Type='http://x/relationships/aFChunk' Target='{}'/></Relationships>"
    document = "<w:document xmlns:w='w' xmlns:r='r'><w:body><w:altChunk r:id='a'/></w:body></w:document>"
    parts = {"word/document.xml": document, f"word/_rels/{part}.xml.rels": related.format("a%201.html")}
    return office({**parts, "word/a 1.html": page(text)})


def with_a_diagram(text: str, folder: str, body: str) -> bytes:
    said = paragraphs(text, "<d:pt><d:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></d:t></d:pt>")
    diagram = f"<d:dataModel xmlns:d='d' xmlns:a='a'><d:ptLst>{said}</d:ptLst></d:dataModel>"
    return office({body: "<a/>", f"{folder}/diagrams/data1.xml": diagram})


def presentation_with_notes(text: str) -> bytes:
    said = paragraphs(text, "<a:p><a:r><a:t>{}</a:t></a:r></a:p>")
    return office({"ppt/notesSlides/notesSlide1.xml": f"<p:sld xmlns:p='p' xmlns:a='a'>{said}</p:sld>"})


def book(package: str, files: Mapping[str, str | bytes], place: str = "OPS/a.opf") -> bytes:
    """A book of some files, which its package names."""
    container = f"<container><rootfiles><rootfile full-path='{place}'/></rootfiles></container>"
    return packed({"META-INF/container.xml": container, place: package, **files})


def epub(text: str) -> bytes:
    package = (
        "<package><manifest><item id='n' href='n.xhtml' properties='nav'/><item id='c1' href='c%201.xhtml'/></manifest>"
        "<spine><itemref idref='n'/><itemref idref='c1'/></spine></package>"
    )
    contents = "<body><nav><h1>Contents</h1></nav></body>"
    return book(package, {"OPS/n.xhtml": contents, "OPS/c 1.xhtml": page(text)})


def rtf(text: str) -> bytes:
    words = "".join(c if ord(c) < 128 else f"\\u{ord(c)}?" for c in text).replace("\n", "\\par\n")
    return b"{\\rtf1\\ansi{\\fonttbl{\\f0 Times;}}{\\*\\generator x;}\\f0 " + words.encode() + b"}"


def letter() -> EmailMessage:
    """A mail without words."""
    found = EmailMessage()
    found["From"], found["Date"] = "ann@example.org", "Thu, 26 Nov 2026 10:00:00 +0000"
    return found


def mail(text: str, encoding: str = "8bit") -> bytes:
    found = letter()
    found["To"], found["Subject"] = "bob@example.org", "News"
    found.set_content(text, cte=encoding)
    return bytes(found)


def mail_of_parts(text: str) -> bytes:
    found = letter()
    found.set_content("See the file.\n")
    found.add_alternative("<html><body><p>See the <b>file</b>.</p></body></html>", subtype="html")
    found.add_attachment(docx(text), maintype="application", subtype="octet-stream", filename="letter.docx")
    return bytes(found)


def mail_as_page(text: str) -> bytes:
    found = letter()
    found.set_content(page(text), subtype="html", cte="quoted-printable")
    return bytes(found)


def mail_for_old_programs(text: str) -> bytes:
    """Its plain words say no more than that there are others."""
    found = letter()
    found.set_content("This mail is a page.\n")
    found.add_alternative(page(text), subtype="html")
    return bytes(found)


def mail_passed_on(text: str, packing: str) -> bytes:
    """A mail in a mail, packed."""
    packed = base64.encodebytes if packing == "base64" else quopri.encodestring
    head = f"Content-Type: message/rfc822\nContent-Transfer-Encoding: {packing}\nContent-Disposition: attachment\n\n"
    part = b"--B\n" + head.encode() + packed(mail(text)) + b"\n--B--\n"
    return b"From: ann@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n" + part


def notebook_that_prints(text: str) -> bytes:
    output = {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}
    cells = [
        {"cell_type": "markdown", "source": "# An answer"},
        {"cell_type": "code", "source": ["print(answer)"], "outputs": [output]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def notebook(text: str) -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": ["x = 1"]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def cues(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]


def subtitles(text: str, comma: str = ",") -> bytes:
    said = cues(text)
    times = [f"00:00:{i:02},000 --> 00:00:{i + 1:02},000".replace(",", comma) for i in range(len(said))]
    shown = [f"{n}\n{time}\n<i>{cue}</i>\n" for n, (time, cue) in enumerate(zip(times, said, strict=True), 1)]
    return ("WEBVTT\n\n" * (comma == ".") + "\n".join(shown)).encode()


def rolling_captions(text: str) -> bytes:
    """Each cue shows the line before it again."""
    shown = cues(text)
    rolled = [f"00:{i:02}.000 --> 00:{i + 1:02}.000\n{before}\n{line}\n" for i, (before, line) in
              enumerate(zip(["", *shown], shown, strict=False))]  # fmt: skip
    return ("WEBVTT\n\n" + "\n".join(rolled)).encode()


def subtitles_of_other_programs(text: str, head: str, cue: str) -> bytes:
    return (head + "".join(map(cue.format, cues(text)))).encode()


def pairs(text: str) -> bytes:
    return json.dumps({"instruction": "Write something about the library, please.", "output": text}).encode()


def export_of_runs(text: str) -> bytes:
    """As a chat program that keeps bold words apart."""
    first, _, rest = text.partition(" ")
    said = [{"type": "bold", "text": first}, f" {rest}"]
    return json.dumps({"name": "Library", "messages": [{"id": 1, "from": "Ann", "text": said}]}).encode()


def messages(text: str) -> bytes:
    asked = {"role": "user", "content": "Write something about the library, please."}
    return json.dumps([asked, {"role": "assistant", "content": text}]).encode()


def export_of_parts(text: str) -> bytes:
    """As the export of a chat program that keeps a tree."""
    asked = {
        "id": "1",
        "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello!"]}},
    }
    told = {
        "id": "2",
        "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [text]}},
    }
    tree = {"root": {"id": "root", "message": None}, "a": asked, "b": told}
    return json.dumps([{"title": "Library", "mapping": tree}]).encode()


def export_of_senders(text: str) -> bytes:
    said = [{"sender": "human", "text": "Hi"}, {"sender": "assistant", "content": [{"type": "text", "text": text}]}]
    return json.dumps([{"name": "Library", "chat_messages": said}]).encode()


def pieces(text: str) -> list[str]:
    return [text[i : i + 5] for i in range(0, len(text), 5)]


def events(records: Iterable[object]) -> bytes:
    """Server-sent events."""
    return "".join(f"data: {json.dumps(record)}\n\n" for record in records).encode()


def streamed(text: str) -> bytes:
    """Chat completions."""
    chunks = [{"id": "x", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces(text)]
    first = {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    return events([first, *chunks]) + b"data: [DONE]\n\n"


def streamed_blocks(text: str) -> bytes:
    chunks = [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}} for piece in pieces(text)]
    return "".join(f"event: content_block_delta\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


def streamed_tokens(text: str) -> bytes:
    return events({"token": {"id": 1, "text": piece}, "generated_text": None} for piece in pieces(text))


def streamed_contents(text: str) -> bytes:
    return events({"content": piece, "stop": False} for piece in pieces(text))


def streamed_lines(text: str) -> bytes:
    chunks = [
        {"model": "x", "message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces(text)
    ]
    return "".join(f"{json.dumps(chunk)}\n" for chunk in chunks).encode()


def response(text: str) -> bytes:
    return json.dumps({"id": "x", "choices": [{"message": {"role": "assistant", "content": text}}]}, indent=2).encode()


ASKED = "Write something about the library, please, and keep it short."


def export_of_versions(text: str) -> bytes:
    """As a program on a desk that keeps all versions of a message, and the steps of an answer."""
    asked = {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": ASKED}]}
    call = {"type": "toolCallRequest", "name": "search", "arguments": {"query": "library"}}
    steps = [{"type": "debugInfoBlock"}, call, {"type": "contentBlock", "content": [{"type": "text", "text": text}]}]
    told = {"type": "multiStep", "role": "assistant", "senderInfo": {"senderName": "m"}, "steps": steps}
    return json.dumps({"name": "n", "messages": [{"versions": [asked]}, {"versions": [told]}]}).encode()


def export_of_branches(text: str) -> bytes:
    """As a program that names the model, and has each answer in its question."""
    told = {"sender": "GPT-4o", "isCreatedByUser": False, "text": "", "content": [{"type": "text", "text": text}]}
    asked = {"sender": "Ann", "isCreatedByUser": True, "text": ASKED, "children": [{**told, "children": []}]}
    return json.dumps({"title": "Library", "recursive": True, "messages": [asked]}).encode()


def export_of_an_editor(text: str) -> bytes:
    first, space, rest = text.partition(" ")
    parts = [
        {"kind": "progressTaskSerialized", "content": {"value": "Reading"}},
        {"kind": "toolInvocationSerialized", "invocationMessage": {"value": "Searching"}},
        {"value": first + space},
        {"value": rest, "supportThemeIcons": False},
    ]
    asked = {"text": ASKED, "parts": [{"kind": "text", "text": ASKED}]}
    request = {"requestId": "1", "message": asked, "response": parts, "result": {"metadata": {"sessionId": "x"}}}
    named = {"requesterUsername": "ann", "responderUsername": "GitHub Copilot"}
    return json.dumps({**named, "requests": [request]}).encode()


def log_of_requests(response: Any, packed: bool = False) -> bytes:
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    body = {"status": 200, "body": response}
    if packed:
        request, body = {"body": json.dumps(request)}, {"body": json.dumps(response)}
    return json.dumps({"time": "2026-11-28 10:00", "request": request, "response": body}).encode()


def logs_of_requests(text: str) -> dict[str, bytes]:
    completion = {"id": "x", "choices": [{"index": 0, "text": text, "finish_reason": "stop"}]}
    chat = {"id": "x", "choices": [{"message": {"role": "assistant", "content": text}}]}
    block = {"output": {"message": {"content": [{"text": text}]}}, "stopReason": "end_turn"}
    plain = {"input": [{"role": "user", "content": ASKED}], "output": text}
    return {
        "requests.json": log_of_requests(chat),
        "requests-packed.json": log_of_requests(chat, packed=True),
        "requests-completed.json": log_of_requests(completion),
        "requests-in-blocks.json": log_of_requests(block),
        "requests-plain.json": json.dumps(plain).encode(),
    }


def export_of_tools(text: str) -> bytes:
    """The model writes a document by a tool."""
    parts = [
        {"type": "tool_use", "name": "artifacts", "input": {"id": "a", "title": "Library", "content": text}},
        {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}]},
    ]
    said = [{"sender": "human", "text": ASKED}, {"sender": "assistant", "text": "", "content": parts}]
    return json.dumps([{"name": "Library", "chat_messages": said}]).encode()


def calls_of_tools(text: str) -> bytes:
    given = json.dumps({"path": "a.md", "content": text})
    call = {"type": "function", "function": {"name": "write", "arguments": given}}
    told = {"role": "assistant", "content": None, "tool_calls": [call]}
    return json.dumps([{"role": "user", "content": ASKED}, told]).encode()


def streams(text: str) -> dict[str, bytes]:
    """As the servers of several makers stream, and one that nobody knows."""

    def of(first: Any, record: Callable[[str], Any], last: Any) -> bytes:
        return "".join(f"{json.dumps(each)}\n" for each in [first, *map(record, pieces(text)), last]).encode()

    parts = "".join(f"0:{json.dumps(piece)}\n" for piece in pieces(text))
    thought = "".join(f"g:{json.dumps(piece)}\n" for piece in pieces(2 * ASKED))
    unknown = of({"n": "a"}, lambda piece: {"n": f"{hash(piece)}", "o": [{"at": "2026-11-28 10:00", "x": piece}]}, {})
    return {
        "stream-of-deltas.jsonl": of(
            {"messageStart": {"role": "assistant"}},
            lambda piece: {"contentBlockDelta": {"delta": {"text": piece}, "contentBlockIndex": 0}},
            {"messageStop": {"stopReason": "end_turn"}},
        ),
        "stream-of-events.jsonl": of(
            {"is_finished": False, "event_type": "stream-start", "generation_id": "x"},
            lambda piece: {"is_finished": False, "event_type": "text-generation", "text": piece},
            {"is_finished": True, "event_type": "stream-end", "response": {"text": text}},
        ),
        "stream-of-messages.jsonl": of(
            {"type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}},
            lambda piece: {"type": "content-delta", "delta": {"message": {"content": {"text": piece}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        ),
        "stream-of-answers.log": of(
            {"event": "workflow_started", "task_id": "x"},
            lambda piece: {"event": "message", "task_id": "x", "id": "y", "answer": piece},
            {"event": "message_end", "task_id": "x", "metadata": {"usage": {"currency": "USD"}}},
        ).replace(b'{"event"', b'data: {"event"'),
        "stream-of-parts.txt": f'f:{{"messageId":"x"}}\n{thought}{parts}e:{{"isContinued":false}}\n'.encode(),
        "stream-of-strangers.jsonl": unknown,
    }


def tar(text: str, mode: Literal["w:", "w:gz"] = "w:gz") -> bytes:
    found, data = io.BytesIO(), docx(text)
    with tarfile.open(fileobj=found, mode=mode) as archive:
        member = tarfile.TarInfo("letters/letter.docx")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return found.getvalue()


def pdf_of(bodies: list[bytes]) -> bytes:
    """A PDF of objects, the first of which is its catalog."""
    found, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    ends = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(bodies) + 1, len(found))
    return found + b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1) + table + ends


def sheet(
    words: bytes,
    *others: bytes,
    more: bytes = b"",
    resources: bytes = b"",
    catalog: bytes = b"",
    font: bytes = b"/Type1",
) -> bytes:
    """A PDF of a page of some words, with more in it, and of other objects from the sixth on."""
    resources = b"/Resources<</Font<</F 5 0 R>>%s>>" % resources
    return pdf_of(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R%s%s>>" % (resources, more),
            b"<</Length %d>>stream\n%s\nendstream" % (len(words), words),
            b"<</Type/Font/Subtype%s/BaseFont/Helvetica>>" % font,
            *others,
        ]
    )


def of_all_kinds(text: str) -> dict[str, bytes]:
    """A file of each kind."""
    data = text.encode()
    return {
        "letter.txt": data,
        "utf-16.txt": text.encode("utf-16"),
        "letter.docx": docx(text),
        "letter.pptx": pptx(text),
        "letter.odt": odt(text),
        "letter.xlsx": xlsx(text),
        "letter.epub": epub(text),
        "letter.rtf": rtf(text),
        "letter.html": page(text).encode(),
        "letter.eml": mail(text),
        "quoted.eml": mail(text, "quoted-printable"),
        "base64.eml": mail(text, "base64"),
        "page.eml": mail_as_page(text),
        "attached.eml": mail_of_parts(text),
        "letters.mbox": b"From ann Thu Nov 26 10:00:00 2026\n" + mail(text),
        "quoted.txt": quopri.encodestring(data),
        "letter.ipynb": notebook(text),
        "film.srt": subtitles(text),
        "film.vtt": subtitles(text, "."),
        "messages.json": messages(text),
        "export-of-parts.json": export_of_parts(text),
        "export-of-senders.json": export_of_senders(text),
        "response.json": response(text),
        "stream.log": streamed(text),
        "stream-of-blocks.log": streamed_blocks(text),
        "stream.jsonl": streamed_lines(text),
        "letter.zip": packed({"a/letter.txt": data}),
        "letters.tgz": tar(text),
        "letters.tar": tar(text, "w:"),
        "letter.txt.gz": gzip.compress(data),
        "letter.txt.bz2": bz2.compress(data),
        "letter.txt.xz": lzma.compress(data),
        "letter.b64": base64.encodebytes(data),
    }


def of_rarer_forms(text: str) -> dict[str, bytes]:
    """Files of these kinds as fewer programs write them."""
    data = text.encode()
    return {
        "wide.txt": text.encode("utf-16-le"),
        "widest.txt": text.encode("utf-32"),
        "wide.html": page(text).encode("utf-16"),
        "letter.fodt": flat_odt(text),
        "pictures.fodt": with_pictures(text),
        "letter.xml": flat_office(text),
        "letter-of-2003.xml": older_office(text),
        "letter.fb2": fb2(text),
        "embedded.docx": office_with_parts("word/embeddings/Document1.docx", docx(text)),
        "embedded.pptx": office_with_parts("ppt/embeddings/Document1.docx", docx(text)),
        "head.docx": office_with_parts("word/header2.xml", older_office(text)),
        "chart.docx": office_with_parts("word/charts/chart1.xml", older_office(text)),
        "notes.odt": odt_with_notes(text),
        **{
            f"{name}.odt": packed({"mimetype": "", "content.xml": "<a/>", part: flat_odt(text)})
            for name, part in (("head", "styles.xml"), ("chart", "Object 1/content.xml"))
        },
        "cells.xlsx": xlsx_of_cells(text),
        "sheet-in-a-text.docx": office_with_parts("word/embeddings/Sheet1.xlsx", xlsx(text)),
        "box.docx": docx_with_a_box(text),
        "chunks.docx": docx_of_chunks(text),
        "chunks-of-a-head.docx": docx_of_chunks(text, "header1"),
        "diagram.docx": with_a_diagram(text, "word", "word/document.xml"),
        "diagram.pptx": with_a_diagram(text, "ppt", "ppt/slides/slide1.xml"),
        "notes.pptx": presentation_with_notes(text),
        "for-old-programs.eml": mail_for_old_programs(text),
        "passed-on.eml": mail_passed_on(text, "base64"),
        "passed-on-quoted.eml": mail_passed_on(text, "quoted-printable"),
        "prints.ipynb": notebook_that_prints(text),
        "rolling.vtt": rolling_captions(text),
        "film.ass": subtitles_of_other_programs(
            text, "[Script Info]\n\n", "Dialogue: 0,0:00:01.00,0:00:02.00,,,0,0,0,,{}\\N\n"
        ),
        "film.sbv": subtitles_of_other_programs(text, "", "0:00:01.000,0:00:02.000\n{}\n\n"),
        "pairs.json": pairs(text),
        "texts.jsonl": "".join(f"{json.dumps({'text': line})}\n" for line in text.split("\n") if line).encode(),
        "export-of-runs.json": export_of_runs(text),
        "stream-of-tokens.log": streamed_tokens(text),
        "stream-of-contents.log": streamed_contents(text),
        "export-of-versions.json": export_of_versions(text),
        "export-of-branches.json": export_of_branches(text),
        "export-of-an-editor.json": export_of_an_editor(text),
        "export-of-tools.json": export_of_tools(text),
        "calls-of-tools.json": calls_of_tools(text),
        **logs_of_requests(text),
        **streams(text),
        "address.b64": b"data:text/plain;base64," + base64.b64encode(data),
        "other-alphabet.b64": base64.urlsafe_b64encode(data),
    }
