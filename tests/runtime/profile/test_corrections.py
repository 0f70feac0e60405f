"""Profiles of apps that correct late events: figures of their clauses, and corrections as without a profile."""

from __future__ import annotations

from typing import Any

import siddhi

APP = """
@temporal(model = 'point', policy = 'correct', bound = '1 min') define stream S (id int, value int);
@info(name = 'sums') from S[value >= 0]#window.length(2) select id, sum(value) as total insert into O;
"""


def test_events_are_units_of_a_profile_however_they_are_sent() -> None:
    with siddhi.App(APP) as app:
        items: list[Any] = []
        app.add_temporal_callback("O", items.extend)
        handler: Any = app["S"]
        with app.profile(every=1) as profile:
            for at in range(10):
                handler.send((at, 1), 1000 + 10 * at)
            handler.insert_batch({"start": range(2000, 2010), "id": range(10), "value": [1] * 10})
            handler.send_rows([(5, 1)] * 5, 3000)
            assert len(items) == 25
            handler.send_rows([(7, 5)], 2999)
            assert [item.kind for item in items[25:]] == ["retract", "insert", "insert"]
        found = {(figure.owner, figure.kind): figure for figure in profile.figures}
        assert found["S", "input"].events_in == 26
        select = next(figure for (owner, _), figure in found.items() if owner == "sums")
        assert select.events_in is not None
        assert select.events_in >= 26  # a replay processes events again
        assert sum(figure.seconds for figure in profile.figures) > 0
        handler.send((9, 1), 4000)
        assert items[-1].data == (9, 2)
