# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns off Python's garbage collector. Modules that connect to a cluster import this before all other files of the collection.

Imports make a hundred thousand objects, and the answers of brokers as many rows. All of them live until the process ends with the task, so the collector
would only search them again and again. Nothing but a module may import this file: other processes, such as Ansible's own, need the collector.
"""

from __future__ import annotations

import gc

gc.disable()
