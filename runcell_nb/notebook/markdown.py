"""Markdown of a model's answer, made safe: raw HTML stays text, images and odd links are not followed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from .shown_text import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LINK_TARGET = re.compile(r"\](?=[(:])(?!.\s*(?:https?://|mailto:))", re.IGNORECASE)
"""End of a link's text, or of the name of a link defined elsewhere, before a target that is not safe."""

_CODE_STYLE = "background-color:rgba(128,128,128,0.14); padding:0 3px"
_PRE_STYLE = "background-color:rgba(128,128,128,0.1); padding:6px 8px; overflow:auto"


def markdown_html(text: str) -> str:
    """Return Markdown as HTML that executes nothing and loads nothing.

    Raw HTML is shown as text, links lead only to http, https and mailto addresses, an image is
    replaced by its description. Headings are made small: they stand inside an answer.
    """
    return str(_renderer().render(visible(text)))


def inert_markdown(text: str) -> str:
    """Return Markdown for front ends that render it by themselves.

    Without raw HTML and images; links that lead elsewhere than to http, https and mailto addresses are
    broken up and read as they were written.
    """
    lines = visible(text).split("\n")
    fenced: set[int] = set()
    for token in _renderer().parse("\n".join(lines)):
        if token.type in ("fence", "code_block") and token.map:
            fenced.update(range(*token.map))
    return "\n".join(line if at in fenced else _inert_line(line) for at, line in enumerate(lines))


def _inert_line(line: str) -> str:
    return _LINK_TARGET.sub(r"]\\", line.replace("<", "&lt;").replace("![", "!\\["))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    renderer.validateLink = _is_safe_link  # type: ignore[method-assign]
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link_open)
    renderer.add_render_rule("heading_open", _heading)
    renderer.add_render_rule("heading_close", _heading)
    renderer.add_render_rule("th_open", _cell)
    renderer.add_render_rule("td_open", _cell)
    renderer.add_render_rule("code_inline", _code_inline)
    renderer.add_render_rule("fence", _code_block)
    renderer.add_render_rule("code_block", _code_block)
    return renderer


def _is_safe_link(url: str) -> bool:
    return bool(_SAFE_LINK.match(url.strip()))


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    description = self.renderInlineAsText(tokens[at].children or [], options, env)
    return f"<i>[image: {escape(description or 'no description')}]</i>"


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    address = escape(str(tokens[at].attrs.get("href", "")))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer nofollow">'


def _heading(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    level = min(int(tokens[at].tag[1]) + 3, 6)
    if tokens[at].nesting < 0:
        return f"</h{level}>\n"
    return f'<h{level} style="font-size:{"1.1em" if level == 4 else "1em"}; margin:10px 0 4px">'


def _cell(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<{tokens[at].tag} style="{tokens[at].attrs.get("style") or "text-align:left"}">'


def _code_inline(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<code style="{_CODE_STYLE}">{escape(tokens[at].content)}</code>'


def _code_block(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<pre style="{_PRE_STYLE}"><code>{escape(tokens[at].content)}</code></pre>\n'
