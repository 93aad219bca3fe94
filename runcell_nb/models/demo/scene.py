"""What a command becomes, and what it can refer to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runcell_nb.core.gateway import ToolSpec

from .commands import QUOTE, Quotes
from .slots import Name, Refusal, is_one, listed, names, safe_path
from .work import Said, Work

_FOLDER = r"(?:(?:the|this|my|our|your) )?(?:current |working )?(?:folder|directory|workspace|sandbox|dir)"
HERE = rf"(?:{_FOLDER}|here|there|it all|everything|\.)"
"""Pattern of the workspace in a person's words."""

ALL_FILES = (
    r"(?:(?:all|any|every|each|the|my|which|these|our) ?(?:of )?(?:the |my |our )?(?:other )?files?|files|"
    rf"everywhere|{_FOLDER}|here|there|it all|everything|\.)"
)
"""Pattern of all files in a person's words."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do.

    Attributes:
        work: Does it, given what the step before said.
        named: The files it speaks of, the likeliest "it" first; None leaves "it" as it was.
        changes: Files that it changes or removes.
        spares: Files that the request says to leave alone; '*' for all.
        tells: It finds something out that a following step may save.
        into: The same step with its output in a new file.
        instead: It takes the place of the step before.
        empty: The new file that it makes and that the next command may fill.
        sought: The text that it looks for.
        folder: A folder it made.
    """

    work: Callable[[Said], Work]
    named: tuple[str, ...] | None = None
    changes: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    tells: bool = False
    into: Callable[[str], Step] | None = None
    instead: bool = False
    empty: str | None = None
    sought: str | None = None
    folder: str | None = None


@dataclass(slots=True)
class Scene:
    """What a command can refer to while a request is read.

    Attributes:
        quotes: What the marks in it stand for.
        tools: What the request offers.
        it: The files that were named last.
        folder: The folder that was made last.
        last: The step before, of the same request.
        overwrite: The command says to overwrite what is there.
        composing: Other steps come before, so that a new file without text is likely to want some.
    """

    quotes: Quotes = field(default_factory=Quotes)
    tools: Sequence[ToolSpec] = ()
    it: tuple[str, ...] = ()
    folder: str | None = None
    last: Step | None = None
    overwrite: bool = False
    composing: bool = False

    def names(self, phrase: str) -> tuple[Name, ...] | None:
        """Read a phrase as the files of a command that only looks; "it" is the likeliest one."""
        found = names(phrase, self.quotes, self.it)
        return found[:1] if found and is_one(phrase) else found

    def one(self, phrase: str, action: str) -> Name | None:
        """Read a phrase as the one file of a command that takes one and may change it.

        Args:
            phrase: What names the file.
            action: For the refusal: "I {action} one file at a time".

        Raises:
            Refusal: Several files are possible.
        """
        found = names(phrase, self.quotes, self.it)
        if found is None or len(found) == 1:
            return found[0] if found else None
        paths = listed(name.path for name in found)
        raise Refusal(f"I {action} one file at a time and this could be {paths}; name one")

    def deletable(self, phrase: str) -> tuple[Name, ...] | None:
        """Read a phrase as files to delete; "it" has to be one file."""
        if is_one(phrase):
            name = self.one(phrase, "delete")
            return None if name is None else (name,)
        return names(phrase, self.quotes, self.it)

    def folder_named(self, phrase: str | None) -> str | None:
        """Read a phrase as a folder, '.' for the workspace; None for anything else."""
        if not phrase or re.fullmatch(HERE, phrase.strip(), re.I):
            return "."
        kind = "(?:folder|directory|dir|subfolder)"
        match = re.fullmatch(
            rf"(?:the |a |my )?(?:(?:new )?{kind}(?: called| named)? (?P<a>{QUOTE}|\S+)|"
            rf"(?P<b>{QUOTE}|\S+)(?: {kind})?)",
            phrase.strip(" ,"),
            re.I,
        )
        path = self.quotes.plain(match["a"] or match["b"]).rstrip("/") if match else ""
        return safe_path(path) if path and not re.search(r"[*?]", path) else None

    def sought(self, text: str) -> str:
        """Return the text that a command looks for, without the words that only introduce it."""
        if self.quotes.whole(text) is None:
            what = r"(?:(?:exact )?(?:words?|text|phrase|string|name|term|letters?)\s(?:of\s)?)?"
            text = re.sub(rf"^(?:(?:the|a|any|all)\s)?{what}(?=\S)", "", text.strip(), count=1, flags=re.I)
        return self.quotes.plain(text)


Builder = Callable[["re.Match[str]", Scene], Step | None]
"""Makes a step of a match; None when the parts do not fit."""
