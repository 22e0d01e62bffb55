# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule that chooses leaders: evidence documents, what Kafka's controller does by itself, the decision, its loss and its explanation. Pure."""
