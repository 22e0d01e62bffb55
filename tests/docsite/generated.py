# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages that are made of the code: what antsibull-docs makes of modules, filters and roles, and what it does not know, playbooks and event sources."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from docsite.places import EVENT_SOURCES, ROOT

NAME = "streamops.kafka_recovery"
TITLE = "Modules, filters and roles"
BIN = Path(sys.executable).parent
ANSIBLE_LABELS = {
    "action_plugins": ("plugins/action.html#action-plugins", "Action plugins"),
    "ansible_configuration_settings": ("reference_appendices/config.html#ansible-configuration-settings", "Ansible Configuration Settings"),
    "common_return_values": ("reference_appendices/common_return_values.html#common-return-values", "Return Values"),
}


def collection_pages(into: Path) -> None:
    """Modules, filters and roles, from their documentation in the checkout. Fails on documentation that is wrong."""
    paths = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections")}
    argv: list[str | Path] = [
        BIN / "antsibull-docs",
        "collection",
        "--use-current",
        "--squash-hierarchy",
        "--fail-on-error",
        "--cleanup",
        "everything",
    ]
    subprocess.run([*argv, "--dest-dir", into, NAME], check=True, cwd=ROOT, env={**os.environ, **paths})
    index = into / "index.rst"
    # Titles of such pages are sentences with the full name of the collection: too long for a sidebar.
    text = re.sub(r"(?m)^( {4})(\w+)_(module|role|filter)$", r"\1\2 <\2_\3>", index.read_text())
    index.write_text(re.sub(r"(?m)^\S+\n=+$", f"{TITLE}\n{'=' * len(TITLE)}", text, count=1))


def ansible_labels(file: Path) -> None:
    """The places in Ansible's own documentation that the pages refer to, in the form in which Sphinx knows other sites."""
    body = "".join(f"{label} std:label -1 {place} {title}\n" for label, (place, title) in sorted(ANSIBLE_LABELS.items()))
    head = "# Sphinx inventory version 2\n# Project: Ansible\n# Version:\n# The remainder of this file is compressed using zlib.\n"
    file.write_bytes(head.encode() + zlib.compress(body.encode()))


def playbook_page(file: Path) -> None:
    """Every playbook with the words that it begins with, and the roles that it runs."""
    parts = [
        "# Playbooks",
        "",
        "Run with `ansible-playbook NAME -i INVENTORY`. Each works on all hosts of the inventory's group `kafka_clusters`, or on those of `--limit`.",
        "",
    ]
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        comments = itertools.takewhile(lambda line: line.startswith("#"), path.read_text().removeprefix("---\n").splitlines())
        said = _linked(" ".join(line.lstrip("# ") for line in comments))
        plays = yaml.safe_load(path.read_text())
        roles = dict.fromkeys(_roles(plays))
        named = ", ".join(f"[{name}]({name}_role.rst)" for name in roles)
        parts += [f"## {NAME}.{path.stem}", "", said, "", f"Roles: {named}." if named else "", ""]
    file.write_text("\n".join(parts))


def _linked(said: str) -> str:
    """Words of a comment, with options as code."""
    said = said.replace("<", "&lt;")
    return re.sub(r"(-e \S+[^\s.,:]|--\S+[^\s.,:]|\bkafka_recovery_\w+\*?)", r"`\1`", said)


def _roles(found: Any) -> Iterator[str]:
    """Short names of the collection's roles that plays or tasks run, in order, those in files of tasks among them."""
    if isinstance(found, list):
        for part in found:
            yield from _roles(part)
    elif isinstance(found, dict):
        for key in ("pre_tasks", "roles", "tasks", "post_tasks", "block", "rescue", "always"):
            yield from _roles(found.get(key, []))
        for word in ("import", "include"):
            role = found.get(f"ansible.builtin.{word}_role", {}).get("name") or found.get("role", "")
            if role.startswith(f"{NAME}."):
                yield role.removeprefix(f"{NAME}.")
            if file := found.get(f"ansible.builtin.{word}_tasks"):
                here = ROOT / "playbooks" / file
                yield from _roles(yaml.safe_load((here if here.is_file() else ROOT / "playbooks/tasks" / file).read_text()))


def event_source_pages(folder: Path) -> None:
    """Every event source with its options and examples, and a page that lists them. Ansible's own documentation tools do not know this kind of plugin."""
    listed, pages = [], []
    for path in sorted((ROOT / EVENT_SOURCES).glob("[!_]*.py")):
        texts = _texts(path)
        documentation = yaml.safe_load(texts["DOCUMENTATION"])
        page = f"{path.stem}_event_source.md"
        pages.append(f"{path.stem} <{path.stem}_event_source>")
        name = f"{NAME}.{path.stem}"
        listed.append(f"- [{path.stem}]({page}): {_plain(documentation['short_description'])}")
        body = [f"# {name} event source", "", f"{_plain(documentation['short_description'])}.", ""]
        body += [f"- {_plain(line)}" for line in _lines(documentation.get("description"))]
        body += ["", "## Options", "", *_options(documentation.get("options", {}))]
        if "EXAMPLES" in texts:
            body += ["", "## Examples", "", "```yaml", texts["EXAMPLES"].strip(), "```", ""]
        (folder / page).write_text("\n".join(body))
    if listed:
        toctree = ["", "```{toctree}", ":hidden:", "", *pages, "```", ""]
        head = [
            "# Event sources",
            "",
            "For `sources` of a rulebook; what they need and how they behave is in [the guide](../events.md).",
            "",
        ]
        (folder / "event_sources.md").write_text("\n".join([*head, *listed, *toctree]))


def _texts(path: Path) -> dict[str, str]:
    """The strings at the top of a plugin, DOCUMENTATION among them. The plugin is not run."""
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    if "DOCUMENTATION" not in found:
        raise SystemExit(f"{path.relative_to(ROOT)} has no DOCUMENTATION: the site has nothing to say of it")
    return found


def _options(options: dict[str, Any], level: int = 0) -> Iterator[str]:
    """A list of options, those within them further in."""
    space = "  " * level
    for name, option in options.items():
        kind = option.get("type", "str") + (f" of {option['elements']}" if "elements" in option else "")
        notes = [
            kind,
            *(["required"] if option.get("required") else []),
            *([f"default `{json.dumps(option['default'])}`"] if "default" in option else []),
        ]
        notes += ["one of " + ", ".join(f"`{choice}`" for choice in option["choices"])] if "choices" in option else []
        yield f"{space}- **{name}** ({', '.join(notes)})"
        yield from (f"{space}  - {_plain(line)}" for line in _lines(option.get("description")))
        yield from _options(option.get("suboptions", {}), level + 1)


def _lines(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _plain(text: str) -> str:
    """Ansible's marks as Markdown's. A module is a link to its page, and so is an event source, for which Ansible has no mark of its own."""

    def page(match: re.Match[str]) -> str:
        kind = "event_source.md" if (ROOT / EVENT_SOURCES / f"{match[1]}.py").is_file() else "module.rst"
        return f"[{match[1]}]({match[1]}_{kind})"

    text = re.sub(rf"M\({re.escape(NAME)}\.(\w+)\)", page, text.strip())
    return re.sub(r"\b[CVOEM]\(([^)]*)\)", r"`\1`", text)
