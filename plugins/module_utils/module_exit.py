# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the work of a module, exits with its result or with the text of a RecoveryError, and handles signals meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, error_line, printable_tree
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_workdir
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import check_user_paths

# Results with line breaks. The code that makes them keeps names from the cluster on one line.
_IN_LINES = ("diff", "exception", "table", "text")
# Results that are those of another module.
_OF_MODULES = ("evidence",)


class PrintableModule(AnsibleModule):
    """AnsibleModule that escapes control characters, for example those of a broker, in everything that a terminal shows.

    Ansible shows warnings, messages, tables and diffs as they are, and does not escape all control characters in results. If the workdir is in an object
    store, they have its URL instead of the folder that stands for it in this process.
    """

    _given: Mapping[str, Any] = {}

    def mount_stores(self) -> None:
        """Make options that are URLs in an object store paths of this process. Raises RecoveryError if one is not valid or its store cannot be read."""
        if not mounts.has_url(self.params):
            return
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import local_options

        changed = local_options(self.params)
        self._given = {option: self.params[option] for option in changed}
        self.params.update(changed)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except UnicodeEncodeError as error:
            # Ansible writes the options to the log of the host as UTF-8, once it has read all of them.
            wrong = [name for name, value in self.params.items() if isinstance(value, str) and error.object == value]
            self.fail_json(f"{wrong[0] if wrong else 'an option'} is {error.object!r}, which is not text in UTF-8: correct it")

    def warn(self, warning: str, *args: Any, **kwargs: Any) -> None:
        """Warn, on one line of limited length."""
        super().warn(error_line(mounts.shown(warning)), *args, **kwargs)

    def exit_json(self, **kwargs: Any) -> None:
        """Exit with these results."""
        self.params.update(self._given)  # Ansible returns them
        super().exit_json(**_printable_results(mounts.shown_tree(kwargs)))

    def fail_json(self, msg: str, **kwargs: Any) -> None:
        """Exit as failed, with this message on one line of limited length."""
        self.params.update(self._given)
        super().fail_json(error_line(mounts.shown(msg)), **_printable_results(mounts.shown_tree(kwargs)))


def _printable_results(results: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _printable_results(value)
        if name in _OF_MODULES and isinstance(value, Mapping)
        else printable_tree(value, lines=name in _IN_LINES)
        for name, value in results.items()
    }


def run_and_exit(module: AnsibleModule, work: Callable[[], dict[str, Any]], unfinished: str | None = None) -> None:
    """Exit with the dict that `work` returns, as failed if its `failed` is true. A RecoveryError exits as failed, with its text.

    SIGTERM and SIGINT end the work (see `signals`). `unfinished`: the message for that case about what was not completed. It replaces the error
    that follows from the signal, since an interrupted Spark fails with its own message.
    """
    try:
        signals.listen()
        check_workdir(module.params)
        check_user_paths(module.argument_spec, module.params)
        if isinstance(module, PrintableModule):
            module.mount_stores()
        result = work()
        signals.defer_signals()
    except RecoveryError as error:
        signals.defer_signals()
        stopped = f"{signals.INTERRUPTED} by {signals.pending_signal()}: {unfinished}; run again"
        module.fail_json(msg=stopped if unfinished and signals.pending_signal() else str(error))
    finally:
        # All objects end with the process: Python need not search them for garbage first.
        gc.freeze()
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)
