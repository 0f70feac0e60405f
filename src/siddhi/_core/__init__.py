"""The compiled core: typed operators over pooled records. It knows nothing of SiddhiQL or plans.

Read in the order an event meets the files. A file's header (.pxd) says what its structures hold and who owns them.

1. ``event`` ``chunk`` ``queue``: the record, its pool, lists and rings of records; ``user_event``: what users hold.
2. ``input``: rows and columns become records (``column*``); ``lock`` and ``context``: the app's lock, clock and timers.
3. ``junction``: where the events of a stream meet its readers; ``dispatch``: which of them an event concerns;
   ``async_buffer``: with threads in between.
4. ``query``: filters and the copy into the query's own records (``processor``, ``stream_function``); expressions are
   ``executor*`` (typed closures).
5. ``window*``: what is held, and when it expires. ``pattern*`` and ``join*`` (with ``searchable*``) take the place of the
   window where a query reads several events; ``partition`` gives every key a state of its own.
6. ``projection`` or ``selector`` (``group``, ``keymap``, ``aggregator*``, ``order``, ``column_op``): what is selected.
   ``sliding_aggregate`` and ``tumbling_aggregate`` (``measure``, ``compact_ring``) are window and selector at once where sums,
   averages and counts are all that is asked of a window.
7. ``output``: ``ratelimit*``, query callbacks, then the target: a junction, a ``table*``, a ``named_window``,
   an ``aggregation*``; ``callback`` and ``batch*``: back to Python.
8. ``snapshot*``: the state of all of this as data.
"""
