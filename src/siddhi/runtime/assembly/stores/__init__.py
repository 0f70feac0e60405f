"""Tables with stores, and the queries that write to them."""
