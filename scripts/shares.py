# SPDX-License-Identifier: Apache-2.0
"""Shares of a count, with their uncertainty: what scripts that score print."""

import math

Z = 1.959964  # of 95 %


def wilson(hits, of):
    """The 95 % interval of a share (Wilson's); everything where nothing was counted."""
    if of == 0:
        return 0.0, 1.0
    centre, spread = hits + Z * Z / 2, Z * math.sqrt(hits * (of - hits) / of + Z * Z / 4)
    return (centre - spread) / (of + Z * Z), (centre + spread) / (of + Z * Z)


def share_text(what, hits, of):
    low, high = wilson(hits, of)
    return f"{what}: {hits} of {of}, {100 * hits / max(1, of):.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
