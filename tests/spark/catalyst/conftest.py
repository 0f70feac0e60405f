"""What Catalyst computes is looked at as users have it: compiled."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _compiled(request):
    if request.node.get_closest_marker("spark") is not None:
        request.getfixturevalue("compiled")
