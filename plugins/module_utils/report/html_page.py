# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one self-contained HTML file: it loads nothing, its policy allows only the script with the known digest, and every text is escaped."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    import jinja2
    from markupsafe import Markup

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable_tree
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import capital, number, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    anchors,
    charts,
    moments,
    page_context,
    page_files,
    page_tables,
    partition_figure,
    svg,
    terms,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import (
    OUTCOME_LABELS,
    SHOWN_FIRST,
    WITHOUT_LEADER,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.scope import LIMITS

STEPS_SHOWN = 12
# The last statement of the bundle, `export{… vh as default …}`, has the internal name of DataTables.
_EXPORTS = re.compile(r"export\s*\{([^{}]*)\}\s*;?")


@cache
def datatables() -> str:
    """Return DataTables as statements of a module script that define `DataTable`. Raises RecoveryError if the library itables is missing or has changed."""
    found = importlib.util.find_spec("itables")
    folders = found.submodule_search_locations if found else None
    path = Path(next(iter(folders)), "html", "dt_bundle.js") if folders else None
    if path is None or not path.is_file():
        raise RecoveryError("the Python library itables is missing, which the tables of the page need: pip install 'itables>=2.9,<2.10'")
    # In a script of HTML this sign, which regular expressions of DataTables have, would start a comment that hides the end of the script.
    source = path.read_text(encoding="utf-8").replace("<!--", "<\\!--")
    exports = list(_EXPORTS.finditer(source))
    inside = re.search(r"([\w$]+) as default\b", exports[-1][1]) if exports else None
    if inside is None or "</script" in source.lower():
        raise RecoveryError(f"{path} is not a supported version of DataTables: pip install 'itables>=2.9,<2.10'")
    return f"{source[: exports[-1].start()]}\nconst DataTable = {inside[1]};\n{source[exports[-1].end() :]}\n"


def embedded(value: Any) -> Markup:
    """Return JSON for a script element. No text in it can end the element, and it has no line separators of JavaScript."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def page(document: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """Return the page of a document (see `document.collect`). `files`: the files of `page_files` by name."""
    # Without control characters, which could hide text, reverse it or start a new line.
    doc = moments.with_moments(printable_tree(document))
    script = f"{datatables()}\n{files[page_files.SCRIPT]}"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(loader=jinja2.DictLoader(files), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(grouped=number, spaced=spaced, capitalised=capital, signed=page_context.signed, moment=moments.moment)
    environment.globals.update(
        cut=page_context.cut, risk_titles=page_context.RISK_TITLES, meanings=terms.MEANINGS, term_anchor=anchors.term_anchor
    )
    data = {
        "tables": page_tables.tables(doc),
        "outcomes": OUTCOME_LABELS,
        "order": SHOWN_FIRST,
        "without_leader": WITHOUT_LEADER,
        "terms": {row["code"]: anchors.term_anchor(row["code"]) for row in terms.terms(doc)},
    }
    return environment.get_template(page_files.TEMPLATE).render(
        doc=doc,
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        style=Markup("\n" + "".join(files[name] for name in page_files.STYLES)),
        script=Markup(script),
        data=embedded(data),
        outcomes=OUTCOME_LABELS,
        charts=charts.charts(doc),
        figures=[partition_figure.figure(row["replicas"]) for row in doc["drawings"]],
        most_bars=svg.MOST_BARS,
        steps_shown=STEPS_SHOWN,
        snapshot_command=Playbooks(doc["inventory"]).line("snapshot"),
        topics_limit=LIMITS["topics"],
        listed_on_paper=sum(1 for row in doc["partitions"] if row["outcome"] in WITHOUT_LEADER and not row["online_at"]),
        **page_context.context(doc),
    )
