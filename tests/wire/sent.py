"""Which requests the collection sends, read from its code."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins import module_utils
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275
from rig.gateway_rules import LOG_INFO_KEY

MODULE_UTILS = Path(module_utils.__path__[0])


def requests() -> dict[int, Any]:
    """All Request classes of kafka-python that module_utils imports, and those that it makes, by API key."""
    kinds = {LOG_INFO_KEY: kip1275.log_info_messages(LOG_INFO_KEY)[0]}
    for path in MODULE_UTILS.rglob("*.py"):
        own = ".".join((module_utils.__name__, *path.relative_to(MODULE_UTILS).with_suffix("").parts))
        for module, name in _requests(ast.parse(path.read_text())):
            kind = getattr(import_module(module or own), name)
            kinds[kind.API_KEY] = kind
    return kinds


def _requests(tree: ast.Module) -> Iterator[tuple[str | None, str]]:
    """Module (None: its own) and name of each Request class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kafka.protocol."):
            yield from ((node.module, alias.name) for alias in node.names if alias.name.endswith("Request"))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.endswith("Request"):
            yield None, node.target.id
