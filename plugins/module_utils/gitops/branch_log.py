# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes by commits of the protected branch itself. Commits of merged branches do not count: those who propose a recovery write them."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import REGULAR, Repository, redacted_line


@dataclass(frozen=True)
class FileChange:
    """A file after a commit. `age`: how many commits with changes are newer; `content`: id of the content, empty if there is no regular file.

    `committer`: name and address; `committed_at`: ISO 8601. The author of the commit could choose both freely.
    """

    age: int
    commit: str
    content: str
    committer: str
    committed_at: str


def changes(repository: Repository, tip: str, folder: str) -> dict[str, list[FileChange]]:
    """Return the changes of every file below `folder` on the first-parent line of `tip` (a commit id), by path, the newest first.

    Raises GitError if git fails.
    """
    # The user's settings must not hide the changes of the first commit.
    arguments = [
        "-c",
        "log.showRoot=true",
        "log",
        "--first-parent",
        "--diff-merges=first-parent",
        "--no-renames",
        "--raw",
        "--no-abbrev",
        "-z",
    ]
    rows = (
        repository.run(*arguments, "--format=%H%x1f%cI%x1f%cn <%ce>", tip, "--", f"{folder}/").decode(errors="surrogateescape").split("\0")
    )
    found: dict[str, list[FileChange]] = {}
    age, commit, tokens = -1, ["", "", ""], iter(rows)
    for token in tokens:
        row = token.lstrip("\n")
        if row.startswith(":"):
            _before, mode, _content, content, _status = row.removeprefix(":").split()
            found.setdefault(next(tokens), []).append(
                FileChange(age, commit[0], content if mode in REGULAR else "", redacted_line(commit[2]), redacted_line(commit[1]))
            )
        elif row:
            age, commit = age + 1, row.split("\x1f", 2)
    return found
