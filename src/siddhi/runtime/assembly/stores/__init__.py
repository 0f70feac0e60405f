"""Tables kept in stores, and the queries that write them."""
