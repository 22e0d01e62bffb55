# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How every module ends: with what its work returns, or with the text of a spoken error; and what a signal does to it meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable, printable_tree
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_workdir

# Results that are laid out in lines. Whoever makes them keeps names from the cluster on one line.
_IN_LINES = ("diff", "exception", "table")


class PrintableModule(AnsibleModule):
    """AnsibleModule through which nothing reaches a terminal but text: control characters, from whatever broker, arrive as escapes.

    Ansible shows warnings, messages, tables and diffs as they are, and of results it escapes less than a terminal obeys.
    """

    def warn(self, warning: str, *args: Any, **kwargs: Any) -> None:
        """Warn, on one line."""
        super().warn(printable(warning), *args, **kwargs)

    def exit_json(self, **kwargs: Any) -> None:
        """End with these results."""
        super().exit_json(**_printable_results(kwargs))

    def fail_json(self, msg: str, **kwargs: Any) -> None:
        """End as failed, with this message on one line."""
        super().fail_json(printable(msg), **_printable_results(kwargs))


def _printable_results(results: Mapping[str, Any]) -> dict[str, Any]:
    return {name: printable_tree(value, lines=name in _IN_LINES) for name, value in results.items()}


def run_and_exit(module: AnsibleModule, work: Callable[[], dict[str, Any]], unfinished: str | None = None) -> None:
    """Exit with the dict that `work` returns. One with a true `failed` fails the task after everything was tried; a spoken error fails it with its text.

    From here on SIGTERM and SIGINT end the work (see `interruption`). `unfinished`: what that leaves, to be said instead of the error that
    comes of it: what was asked of Spark fails in words of its own when it is interrupted.
    """
    try:
        signals.listen()
        check_workdir(module.params)
        result = work()
        signals.defer_signals()
    except RecoveryError as error:
        signals.defer_signals()
        stopped = f"{signals.INTERRUPTED} by {signals.pending_signal()}: {unfinished}; run again"
        module.fail_json(msg=stopped if unfinished and signals.pending_signal() else str(error))
    finally:
        # What there is ends with the process: Python need not look through all of it for garbage before.
        gc.freeze()
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)
