"""Code of Spark's Python workers: shards of engine fragments, in batch or in the stateful operator of a stream."""
