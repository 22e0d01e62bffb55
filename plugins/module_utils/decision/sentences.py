# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a leader that the controller elects by itself is worth. Plans, guards and results use the same sentences."""

from __future__ import annotations

MAY_LACK = "the end of its log may be missing"
LAST_KNOWN_LEADER = f"the last known leader, whose shutdown was unclean, so {MAY_LACK}"
LAST_IN_SYNC = f"the last member of the ISR, which stays there however it was shut down: after an unclean shutdown {MAY_LACK}"
ELIGIBLE = "an eligible leader replica (ELR), which holds every committed record unless its shutdown was unclean"
