# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the process behind a port of 127.0.0.1. Any user of this host may listen on a free port."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    import psutil

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.socket_users import ADDRESS

MAPPED = "::ffff:"  # how a socket for both IPv4 and IPv6, as Java makes it, shows an address of IPv4


def listener(parent: int, port: int) -> psutil.Process | None:
    """Return the child of process `parent` that belongs to this user and listens on 127.0.0.1:`port`; None if there is none."""
    with suppress(psutil.Error):
        for process in psutil.Process(parent).children():
            with suppress(psutil.Error):
                if process.uids().effective == os.geteuid() and _listens(process, port):
                    return process
    return None


def connects_to(process: psutil.Process, port: int) -> bool:
    """Return whether this process is connected to 127.0.0.1:`port`, and `process` is the other end of all these connections."""
    try:
        ours = {at.laddr.port for at in psutil.Process().net_connections("tcp") if at.raddr and _is(at.raddr, port) and _is_open(at)}
        theirs = {at.raddr.port for at in process.net_connections("tcp") if _is(at.laddr, port) and _is_open(at)}
        return process.is_running() and bool(ours) and ours <= theirs
    except psutil.Error:
        return False


def _listens(process: psutil.Process, port: int) -> bool:
    return any(at.status == psutil.CONN_LISTEN and _is(at.laddr, port) for at in process.net_connections("tcp"))


def _is_open(connection: Any) -> bool:
    return bool(connection.status == psutil.CONN_ESTABLISHED)


def _is(address: Any, port: int) -> bool:
    return (address.ip.removeprefix(MAPPED), address.port) == (ADDRESS, port)
