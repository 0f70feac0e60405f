"""The compiled core: typed operators over pooled records. It knows nothing of SiddhiQL or plans.

Read in the order an event meets the files: event, chunk, column, executor*, input, junction, query, window*, aggregator,
group, selector, output, callback; app holds the clock, the lock and the timers.
"""
