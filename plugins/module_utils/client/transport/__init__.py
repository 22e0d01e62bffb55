# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections to brokers and controllers: options, TLS, SASL, limits of memory and time, and the diagnosis of a failed connection."""
