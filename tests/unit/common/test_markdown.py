# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Markdown: whatever a text holds, a parser finds that text in it and nothing else."""

from __future__ import annotations

import re

import pytest
from hostile_content import TEXTS
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import block, code, table, text

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKUP = '\\`*_{}[]<>()#+-!|~&$:^"=@.1) \n\tw/ahtps;'
ANYTHING = st.one_of(st.text(), st.text(MARKUP), st.sampled_from(TEXTS))
LINK = "[a](http://b) <https://c> ![d](e) <script>alert(1)</script> &lt; &#64; **f** __g__ `h` ~~i~~ | j \\| k\n# l\n- m\n1. n\n==="


def leaves(tokens: list[Token]) -> list[Token]:
    """What is in the tokens, however deep."""
    return [leaf for token in tokens for leaf in (leaves(token.children) if token.children is not None else [token])]


def read(tokens: list[Token]) -> str:
    """The text of inline tokens; anything that is no text fails. The comment that keeps forges from telling people is none of the text."""
    found = ""
    for token in tokens:
        if token.type == "html_inline":
            assert token.content == "<!-- -->", token
        else:
            assert token.type in ("text", "text_special", "code_inline"), token
            found += token.content
    return found


def plain(words: str) -> str:
    """What is to be read."""
    return " ".join(printable(words).split())


@given(ANYTHING)
def test_a_text_in_a_cell_stays_that_text(words: str) -> None:
    for shown in (text(words), code(words)):
        tokens = PARSER.parse("\n".join(table(["a", "b"], [[shown, "last"]])))
        assert [token.type for token in tokens if token.type.endswith("_open")].count("td_open") == 2
        cells = [token for token in tokens if token.type == "inline"]
        assert [read(leaves([cell])) for cell in cells] == ["a", "b", plain(words), "last"]


@given(ANYTHING)
def test_a_text_by_itself_is_one_paragraph(words: str) -> None:
    tokens = PARSER.parse(text(words))
    if plain(words):
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        assert read(leaves(tokens[1:2])) == plain(words)


@given(st.lists(ANYTHING, min_size=1).map("\n".join))
def test_a_block_ends_where_it_ends(command: str) -> None:
    tokens = PARSER.parse("\n".join([*block(command), "after"]))
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize("words", [LINK, "@ada and @org/team", "www.example.com", "https://example.com", ":tada: $`x`$ [^1]"])
def test_what_forges_make_of_text_is_kept_from_them(words: str) -> None:
    shown = text(words)
    assert not re.search(r"(?<!\\)(www\.|://|:tada:|\$`|@[ao]|\[\^)", shown)
    assert read(leaves(PARSER.parse(shown)[1:2])) == plain(words)
