"""A session's rows as a person reads them: rows → blocks → passages. Pure; knows no terminal."""

from transcript_terminal.outline.blocks import Block
from transcript_terminal.outline.outline import Outline
from transcript_terminal.outline.passages import Passage, Span
from transcript_terminal.outline.wording import Wording

__all__ = ["Block", "Outline", "Passage", "Span", "Wording"]
