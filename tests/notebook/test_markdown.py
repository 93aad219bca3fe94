"""Markdown becomes HTML that does nothing by itself."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from runcell_nb.notebook.markdown import inert_markdown, markdown_html

from .samples import HOSTILE

ALLOWED = {"p", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "s", "code", "pre", "blockquote"}
ALLOWED |= {"table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "i"}


class Audit(HTMLParser):
    """Collects the tags and attributes that a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)


def test_hostile_markdown_gives_only_known_tags_and_attributes() -> None:
    audit = Audit(markdown_html(HOSTILE))
    assert set(audit.tags) <= ALLOWED
    assert {name for name, _ in audit.attributes} <= {"style", "href", "target", "rel"}
    links = [value for name, value in audit.attributes if name == "href"]
    assert links
    assert all(link.startswith("https://example.org/") for link in links)


@pytest.mark.parametrize("link", ["https://a.org/x", "http://a.org", "mailto:a@b.org"])
def test_ordinary_links_work(link: str) -> None:
    assert f'href="{link}"' in markdown_html(f"[here]({link})")


@pytest.mark.parametrize(
    "link", ["javascript:x", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "//a.org", "x.html"]
)
def test_other_links_stay_text(link: str) -> None:
    assert "<a " not in markdown_html(f"[here]({link}) <{link}>")


def test_an_image_is_its_description() -> None:
    html = markdown_html("![a *big* chart](https://a.org/x.png)")
    assert html == "<p><i>[image: a big chart]</i></p>\n"


def test_tables_headings_and_code() -> None:
    html = markdown_html("# Big\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx < 1\n```\n\n~~no~~")
    assert "<h4" in html
    assert '<td style="text-align:right">2</td>' in html
    assert "x &lt; 1" in html
    assert "<s>no</s>" in html


def test_markdown_for_others_has_no_html_and_no_images() -> None:
    text = inert_markdown("<b>x</b> ![p](http://a.org/p.png)\n\n```\n<kept> ![kept]\n```\n")
    assert text == "&lt;b>x&lt;/b> !\\[p](http://a.org/p.png)\n\n```\n<kept> ![kept]\n```\n"
    assert "<" not in inert_markdown("`<svg onload=x>` <svg/onload=x>")


class Trusting(Audit):
    """What a front end that checks nothing by itself would link to."""

    def __init__(self, markdown: str) -> None:
        renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        renderer.validateLink = lambda _url: True  # type: ignore[method-assign]
        super().__init__(renderer.render(markdown))
        self.links = [value for name, value in self.attributes if name in ("href", "src")]


@pytest.mark.parametrize(
    "target", ["javascript:x", "JavaScript:x(1)", "data:text/html,x", "//a.org", "x.html"]
)
@pytest.mark.parametrize(
    "form",
    [
        "[here]({})",
        "[here]( {} )",
        "[here](<{}>)",
        "[here](\n{})",
        "[here]({} 'title')",
        "[*a* [b] c]({})",
        "[![here](x)]({})",
        "[one](https://a.org) [two]({})",
        "- > [here]({})",
        "| a |\n|---|\n| [here]({}) |",
        "<{}>",
        "[here][1]\n\n[1]: {}",
        "[1]\n\n> - [1]: {}",
        "[1]\n\n[1]:\n  {}",
        "[a b]\n\n[a\nb]: {}",
        "[here\\\\]({})",
        "![here]({})",
    ],
)
def test_markdown_for_others_leads_nowhere_odd(form: str, target: str) -> None:
    for written in (target, "".join(f"&#{ord(sign)};" for sign in target), target.replace(":", "\\:")):
        source = form.format(written)
        links = Trusting(inert_markdown(source)).links
        assert [link for link in links if not link.startswith("https://")] == [], source


@pytest.mark.parametrize("link", ["https://a.org/x", "http://a.org", "mailto:a@b.org"])
@pytest.mark.parametrize("form", ["[here]({})", "[here]( {} 'title')", "[here][1]\n\n[1]: {}"])
def test_ordinary_links_stay_links_in_markdown_for_others(form: str, link: str) -> None:
    assert Trusting(inert_markdown(form.format(link))).links == [link]
