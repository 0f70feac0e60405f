"""A profile as a file of speedscope, the viewer of flame graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["speedscope_of"]


def speedscope_of(profile: Profile) -> dict[str, Any]:
    """Return the stacks of a profile in speedscope's format, type ``sampled``: one sample per stack, its weight in seconds."""
    frames: dict[str, int] = {}
    samples, weights = [], []
    for stack in profile.stacks:
        samples.append([frames.setdefault(name, len(frames)) for name in stack.names])
        weights.append(stack.seconds)
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": f"siddhi: {profile.app}",
        "exporter": "siddhi",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": profile.app,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
