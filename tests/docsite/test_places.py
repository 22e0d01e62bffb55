# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of Markdown files: what is one, where it leads on a Git host, and where in the site."""

from __future__ import annotations

import pytest

from docsite.extension import one_title, tables_of_contents
from docsite.places import REPOSITORY, anchors, headings, in_site, links, named_links

TEXT = """# Title

See [one](one.md), [two](two.md#part) and `[no](link.md)` ![picture](drawings/x.svg).

    [code](code.md)

- a list

  [within](within.md)

```yaml
# no heading
[fenced](fenced.md)
```

## A part, and `code`
## A part, and `code`
## With [a link](three.md)
"""


def test_what_stands_in_code_is_no_link_and_no_heading() -> None:
    assert links(TEXT) == ["one.md", "two.md#part", "drawings/x.svg", "within.md", "three.md"]
    assert named_links(TEXT)[:2] == [("one", "one.md"), ("two", "two.md#part")]
    assert headings(TEXT) == ["Title", "A part, and `code`", "A part, and `code`", "With [a link](three.md)"]


def test_anchors_are_those_of_git_hosts() -> None:
    assert anchors(TEXT) == {"title", "a-part-and-code", "a-part-and-code-1", "with-a-link"}


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("docs/a.md", "b.md#c", "b.md#c"),
        ("docs/a.md", "#c", "#c"),
        ("docs/a.md", "https://example.com/b.md", "https://example.com/b.md"),
        ("docs/a.md", "drawings/x.svg", "drawings/x.svg"),
        ("docs/a.md", "../README.md#c", "readme.md#c"),
        ("docs/a.md", "../plugins/modules/kafka_partition_info.py", "collection/kafka_partition_info_module.rst"),
        ("docs/a.md", "../plugins/filter/json_query.py", "collection/json_query_filter.rst"),
        ("docs/a.md", "../plugins/modules", "collection/index.rst"),
        ("docs/a.md", "../playbooks", "collection/playbooks.md"),
        ("docs/a.md", "../requirements.txt", f"{REPOSITORY}/blob/main/requirements.txt"),
        ("docs/a.md", "../tests/rig", f"{REPOSITORY}/tree/main/tests/rig"),
        ("README.md", "docs/b.md#c", "b.md#c"),
        ("README.md", "CHANGELOG.md", "changelog.md"),
        ("docs/development/a.md", "../b.md", "../b.md"),
    ],
)
def test_a_link_leads_to_the_same_in_the_site(source: str, target: str, wanted: str) -> None:
    assert in_site(source, target) == wanted


def test_all_but_the_first_title_go_down() -> None:
    assert one_title("# A\n## B\n# C\n## D\n```\n# no\n```\n") == "# A\n## B\n## C\n### D\n```\n# no\n```"
    assert one_title("# A\n## B\n") == "# A\n## B\n"


def test_the_start_page_is_the_table_of_contents() -> None:
    made = tables_of_contents(
        "# S\n\n## Part\n\n- [One](one.md): see [place](one.md#p)\n- [Playbooks](../playbooks)\n\n## No pages\n\n[x](https://x.example)\n"
    )
    assert made.split("\n") == [
        "",
        "",
        "```{toctree}",
        ":hidden:",
        ":caption: Part",
        "",
        "One <one>",
        "Playbooks <collection/playbooks>",
        "```",
        "",
    ]
