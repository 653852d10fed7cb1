"""What a transcript says stays what it says: no export lets it act, hide, or leave its place."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from semantics.world import THOROUGH, examples

from transcript import Client
from transcript.v1.event_pb2 import (
    Attachment,
    Event,
    ReplaceOp,
    Rewind,
    Status,
    Surface,
    ToolCall,
    ToolResult,
    UserMessage,
)
from transcript_terminal.exporting.quoting import fenced, heading, inline, quoted
from transcript_terminal.exporting.rendering import rendered
from transcript_terminal.exporting.web_page import _linked
from transcript_terminal.outline.reading import read

from .command import Command

MARKUP = (
    "<script>alert(1)</script></details></article></main></style><style>*{display:none}</style>"
    '"><img src=x onerror=alert(1)><!-- `<b>` [a](javascript:alert(1)) [b](data:text/html,x) [c](vbscript:x) '
    "![far](https://example.com/x.png) <javascript:alert(1)> [d](//example.com) {{ 7*7 }} {% raw %}"
)
HIDING = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u200b\u2066\x00 &#x202e;&#8203;&#27;"
NASTY = f"{MARKUP}{HIDING}\n# heading\n```\nunclosed <i>\n\n</details>\n<details>\n\n[ref]: javascript:x\n[ref]"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "span", "nav", "details", "summary", "ol",
    "li", "a", "main", "h2", "h3", "h4", "h5", "h6", "article", "strong", "bdi", "em", "div", "pre", "code", "ul",
    "blockquote", "hr", "br", "s", "table", "thead", "tbody", "tr", "th", "td", "figure", "img", "figcaption", "time",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "dir", "aria-label", "open", "href", "id", "datetime",
    "title", "rel", "start", "src", "alt", "loading",
}  # fmt: skip
patient = pytest.mark.timeout(1200 if THOROUGH else 120)
VOID = {"meta", "hr", "br", "img"}
SPOILT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


class Checked(HTMLParser):
    """Walks a page and holds it to what it may consist of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.said: list[str] = []
        assert not SPOILT.search(text)
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            assert not SPOILT.search(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
                assert re.match(r"#|https?://|mailto:", value or ""), value
            if name == "src":
                assert re.match(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$", value or ""), value
        if tag == "a" and not dict(attrs)["href"].startswith("#"):
            assert dict(attrs)["rel"] == "noopener noreferrer nofollow"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, tag
        self.handle_starttag(tag, attrs)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        assert not SPOILT.search(data)
        self.said.append(data)


def fill(message: Message, text: str) -> None:
    """Put the text into every field that takes one, at any depth; into those that are checked, what they take of it."""
    for field in message.DESCRIPTOR.fields:
        if field.name in {"session_id", "event_id"}:
            setattr(message, field.name, "s")
        elif field.name in {"label", "source"}:
            setattr(message, field.name, MARKUP[:60])
        elif field.type == FieldDescriptor.TYPE_STRING and field.is_repeated:
            getattr(message, field.name).extend([text, text])
        elif field.type == FieldDescriptor.TYPE_STRING and field.name != "uri":
            setattr(message, field.name, text)
        elif field.name == "attachments":
            message.attachments.add(media_type=text, name=text, data=b"<svg onload=alert(1)>")
            message.attachments.add(media_type="image/svg+xml", name=text, data=b"<svg onload=alert(1)>")
            message.attachments.add(media_type="image/png", name=text, data=b"<svg onload=alert(1)>")
            message.attachments.add(media_type="text/html", name=text, uri=f"javascript:{text}")


def hostile_rows() -> Iterator[Event]:
    """A row of every kind, twice where its fields pair it with others."""
    yield Event(user_message=UserMessage(text="begin"))
    for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields:
        if field.name in {"human_response", "rewind"}:
            continue
        event = Event()
        payload = getattr(event, field.name)
        payload.SetInParent()
        fill(payload, NASTY)
        if field.name == "compaction_checkpoint":
            event.surface.CopyFrom(Surface(replace=ReplaceOp(start_sequence=1, end_sequence=1)))
        yield event
    yield Event(human_response={"request_id": NASTY, "answer": NASTY})
    yield Event(rewind={"after_sequence": 0, "reason": NASTY})
    yield Event(tool_call=ToolCall(call_id="x", name=NASTY, arguments_json='{"command": "<b>\\u202e"}'))
    yield Event(tool_result=ToolResult(call_id="x", text=NASTY, is_error=True, attachments=[Attachment(name=NASTY)]))


@pytest.fixture
async def hostile(client: Client) -> str:
    await client.create_session("hostile", title=MARKUP[:150], labels={MARKUP[:100]: MARKUP[:100]})
    await client.append("hostile", hostile_rows(), as_recorded=True)
    return "hostile"


async def test_no_field_of_any_kind_acts_on_the_page(command: Command, hostile: str, client: Client) -> None:
    """Tags, attributes and addresses are the page's own, every tag is closed where it was opened, nothing hides."""
    ran = await command("export", hostile, "--format", "html")
    page = Checked(ran.stdout)
    tip = (await client.get_session(hostile)).latest_sequence

    assert (ran.status, ran.stderr) == (0, "")
    assert len(page.ids) == len(set(page.ids))
    rows = sorted(int(one) for one in page.ids if one.isdigit())
    assert rows == list(range(1, tip + 1)), "every row can be linked to"
    assert "<script>alert(1)</script>" in "".join(page.said)
    assert "owned" not in ran.stdout
    assert r"\u{202e}" in ran.stdout


async def test_the_page_admits_nothing_but_its_own_style(command: Command, hostile: str) -> None:
    ran = await command("export", hostile, "--format", "html")
    style = re.search(r"<style>(.*?)</style>", ran.stdout, re.DOTALL)
    policy = re.search(r'Security-Policy" content="([^"]*)"', ran.stdout)

    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert " style=" not in ran.stdout.replace(MARKUP, "")


async def test_no_field_of_any_kind_acts_on_the_markdown(command: Command, hostile: str) -> None:
    """The document's headings are its own; no HTML, no image, and nothing hides."""
    ran = await command("export", hostile, "--format", "md")
    tokens = MarkdownIt("commonmark", {"html": True}).parse(ran.stdout)
    headings = [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open" and not one.level]

    assert not SPOILT.search(ran.stdout)
    assert {one.type for one in all_tokens(tokens)} & {"html_block", "html_inline", "image"} == set()
    assert [re.sub(r" · .*", "", one) for one in headings[1:]] == ["Opening", "User", "User", headings[4]]
    assert headings[4].startswith(r"\<script\>")


def all_tokens(tokens):
    for token in tokens:
        yield token
        yield from all_tokens(token.children or ())


marked = st.lists(
    st.sampled_from(
        [
            *"\n\n\n  `~<>!&[]()*_#|-\\\t:",
            "```",
            "<b>",
            "<!--",
            "</div>",
            "<div\n",
            "![x](y)",
            "[x](javascript:y)",
            "<https://a.b>",
            "    ",
            "> ",
            "- ",
            "1. ",
            "&#x202e;",
            "text",
            "\r",
            "\x1b[1m",
            "| a |\n|--|\n",
            "| a | b |\n|--|--|\n| ``",
            "``",
            "[x]: /y\n",
        ]
    ),
    max_size=25,
).map("".join)


@patient
@examples(400)
@given(text=marked)
def test_quoted_markdown_stays_in_its_quote(text: str) -> None:
    """For a reader that takes HTML for HTML, with tables or without: one quote, no tag, no image, whatever is in it."""
    strict = MarkdownIt("commonmark", {"html": True})
    for reader in (strict, MarkdownIt("commonmark", {"html": True}).enable("table")):
        definitions: dict[str, Any] = {}
        tokens = reader.parse(f"{quoted(text)}\n\nafter\n", definitions)
        assert not definitions.get("references"), "they would hold for what others say"
        outermost = [token.type for token in tokens if token.level == 0]

        assert outermost == ["blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close"]
        assert tokens[-2].content == "after"
        assert {one.type for one in all_tokens(tokens)} & {"html_block", "html_inline", "image"} == set()


@pytest.mark.parametrize(
    "definition", ["[a]: http://evil.example/x", "> [a]:\n  /x", "- [a]: <x> 'title'", "[a\nb]: /x"]
)
def test_one_message_defines_nothing_for_another(definition: str) -> None:
    """A link's address, by whatever name; what was said is still there to read."""
    html = MarkdownIt("commonmark").render(f"{quoted('See [a] and [a b].')}\n\n{quoted(definition)}\n")

    assert "<a " not in html
    assert "]:" in html


def test_a_line_links_the_row_that_it_cites_and_no_number_of_others() -> None:
    """A pull request's number in somebody's status is no row."""
    status = read(Event(sequence=3, status=Status(text="see PR #2 and #77")))
    rewound = read(Event(sequence=5, rewind=Rewind(after_sequence=2, reason="as in #4")))

    assert _linked(status) == "see PR #2 and #77"
    assert _linked(rewound) == (
        'the conversation went back to <a href="#2">#2</a>; what came after it no longer counts: as in #4'
    )


@patient
@examples(200)
@given(text=marked)
def test_rendered_markdown_is_tags_of_the_parsers_own(text: str) -> None:
    Checked(str(rendered(text)))


@patient
@examples(200)
@given(text=marked)
def test_words_in_a_line_are_only_words(text: str) -> None:
    """As a heading, within bold, and as a fence's content they stand there as they were said."""
    parser = MarkdownIt("commonmark", {"html": True})
    for document in (f"# {heading(text)}", f"**{inline(text) or 'x'}** · #1"):
        tokens = parser.parse(document)
        assert len([one for one in tokens if one.level == 0]) == 2
        assert {one.type for one in all_tokens(tokens)} <= {
            "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "text_special",
            "strong_open", "strong_close",
        }  # fmt: skip
    assert [one.type for one in parser.parse(f"{fenced(text)}\n")] == ["fence"]


def test_code_is_left_as_it_is() -> None:
    """Escapes would show there."""
    text = (
        "`<b>` and\n\n```html\n<!-- x --> ![y](z)\n\tz\n```\n\n    <indented>\n\n"
        "<b> \\<c> <https://a.b/c> ``a ` <d>``\n\n| `<e>` | f |\n|--|--|\n| g | `h <i>` |"
    )

    assert quoted(text).split("\n") == [
        "> `<b>` and",
        ">",
        "> ```html",
        "> <!-- x --> ![y](z)",
        "> \tz",
        "> ```",
        ">",
        ">     <indented>",
        ">",
        "> \\<b> \\<c> <https://a.b/c> ``a ` <d>``",
        ">",
        "> | `<e>` | f |",
        "> |--|--|",
        "> | g | `h <i>` |",
    ]
