"""By what an app can be spread over engines: unspecified, on a single partition, or hash partitioned by keys."""
