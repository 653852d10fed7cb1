"""Page tokens: opaque, bound to what they were made for, and good for nothing else."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from semantics.world import examples

from transcript.v1.session_service_pb2 import ListSessionsRequest
from transcript.v1.transcript_service_pb2 import ListSectionsRequest, ListTurnsRequest
from transcript_server.rules.errors import Refusal
from transcript_server.services.tokens import Tokens

TOKENS = Tokens(b"a secret of the store")
NUMBERS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=3)
ASKED = ListSectionsRequest(session_id="s")


def refused(request: Message, token: str, count: int = 1, tokens: Tokens = TOKENS) -> None:
    """Reading the token is refused."""
    with pytest.raises(Refusal) as caught:
        tokens.read(request, token, count)
    assert caught.value.reason_name == "INVALID_FIELD"
    assert [violation.field for violation in caught.value.violations] == ["page_token"]
    assert caught.value.message == "page_token: is not one that a call with these arguments returned"


@examples(50)
@given(NUMBERS)
def test_a_token_gives_back_the_place_it_was_made_for(numbers: list[int]) -> None:
    """It travels in addresses and shells as it is."""
    token = TOKENS.make(ASKED, *numbers)

    assert TOKENS.read(ASKED, token, len(numbers)) == tuple(numbers)
    assert token.replace("-", "").replace("_", "").isalnum()
    assert token.isascii()


def test_a_token_is_good_for_another_page_size_and_beside_another_token() -> None:
    """These two may differ from page to page."""
    token = TOKENS.make(ListSectionsRequest(session_id="s", page_size=5), 7)

    assert TOKENS.read(ListSectionsRequest(session_id="s", page_size=9, page_token=token), token, 1) == (7,)


@pytest.mark.parametrize(
    "other",
    [
        ListSectionsRequest(session_id="t"),
        ListSectionsRequest(),
        ListTurnsRequest(session_id="s"),
        ListSessionsRequest(),
    ],
    ids=["another session", "no session", "another call", "another list"],
)
def test_a_token_is_good_for_no_other_arguments(other: Message) -> None:
    """The place means something else there."""
    refused(other, TOKENS.make(ASKED, 7))


def test_a_token_is_bound_to_every_filter() -> None:
    """However they are ordered on the wire."""
    labels = {f"{number}": "x" for number in range(20)}
    backwards = dict(reversed(labels.items()))
    request = ListSessionsRequest(title_contains="t", labels=labels)
    token = TOKENS.make(request, 1, 2)

    assert TOKENS.read(ListSessionsRequest(title_contains="t", labels=backwards), token, 2) == (1, 2)
    refused(ListSessionsRequest(title_contains="t"), token, 2)
    refused(ListSessionsRequest(labels=labels), token, 2)


def test_a_token_of_another_store_is_none() -> None:
    """A restored or a foreign one."""
    refused(ASKED, TOKENS.make(ASKED, 7), tokens=Tokens(b"another secret"))


@pytest.mark.parametrize("token", ["x", "====", "!!!!", "é", "AAAA", "A" * 22, "A" * 10_000, "\0", "a b", " "])
def test_what_was_made_up_is_refused(token: str) -> None:
    """Whatever it is."""
    refused(ASKED, token)


@examples(100)
@given(st.text(max_size=40))
def test_no_text_that_was_made_up_is_taken(token: str) -> None:
    """Reading one never fails otherwise."""
    refused(ASKED, token)


def test_a_token_with_a_single_bit_changed_is_refused() -> None:
    """In its place or in its seal."""
    token = TOKENS.make(ASKED, 7)
    for at in range(len(token) - 1):
        changed = "B" if token[at] == "A" else "A"
        refused(ASKED, token[:at] + changed + token[at + 1 :])


@pytest.mark.parametrize("junk", ["!", " ", "\n", "é", "="])
def test_a_token_with_something_added_is_refused(junk: str) -> None:
    """It is not the one that was returned."""
    token = TOKENS.make(ASKED, 7)
    for altered in (token + junk, junk + token, token[:5] + junk + token[5:]):
        refused(ASKED, altered)


def test_a_token_of_another_length_is_refused() -> None:
    """One list's place is no place of another."""
    refused(ASKED, TOKENS.make(ASKED, 7, 8))
    refused(ASKED, TOKENS.make(ASKED, 7), 2)
    refused(ASKED, TOKENS.make(ASKED, 7)[:-4])
