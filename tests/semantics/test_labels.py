"""Which characters a marker's label may hold, over all of Unicode (rule 11)."""

from __future__ import annotations

import random
import sys
import unicodedata

from .rows import marker
from .wire import Wire

BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
ZERO_WIDTH = [0x00AD, 0x180E, 0x200B, 0x200C, 0x200D, *range(0x2060, 0x2065), 0xFEFF]
TAGS = list(range(0xE0000, 0xE0080))
SEPARATORS = [0x2028, 0x2029]
# Marks that show nothing by themselves, and fillers: the rule's words do not decide about them.
UNDECIDED = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0}
UNDECIDED |= {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x1D173, 0x1D17B), 0x13439, 0x1343A}


def characters(*categories: str) -> list[str]:
    """Every character whose category begins with one of these."""
    return [
        chr(number)
        for number in range(sys.maxunicode + 1)
        if number not in UNDECIDED and unicodedata.category(chr(number)).startswith(categories)
    ]


async def test_rule_11_letters_marks_numbers_punctuation_and_symbols_are_welcome(wire: Wire):
    """Every one that there is, each after a letter, forty to a label; they come back brought to NFC."""
    await wire.create("s")
    # A mark by itself may change with its neighbours in NFC, so each has a neighbour of its own.
    good = characters("L", "M", "N", "P", "S", "Zs")
    labels = ["".join(f"a{each}" for each in good[start : start + 40]) for start in range(0, len(good), 40)]
    for start in range(0, len(labels), 1000):
        await wire.append("s", *(marker(label) for label in labels[start : start + 1000]))
    stored = [row.section_marker.label for row in await wire.rows("s")]
    assert stored == [unicodedata.normalize("NFC", label) for label in labels]


async def test_rule_11_control_bidi_zero_width_tag_and_unassigned_characters_are_not(wire: Wire):
    """Each control, bidi, zero-width and tag character and each separator; of the unassigned ones a sample."""
    await wire.create("s")
    named = [chr(number) for number in (*BIDI, *ZERO_WIDTH, *TAGS, *SEPARATORS)]
    unassigned = random.Random(11).sample(characters("Cn"), 200)
    for character in (*characters("Cc"), *named, *unassigned):
        failure = await wire.refused("s", marker(f"a{character}b"))
        assert failure.reason == "INVALID_FIELD", hex(ord(character))
        assert failure.violations == ["events[0].section_marker.label"]
    assert (await wire.session("s")).latest_sequence == 0
