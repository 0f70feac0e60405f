"""What runs on Spark's Python workers: shards of islands, fed in batch or by the stateful operator of a stream."""
