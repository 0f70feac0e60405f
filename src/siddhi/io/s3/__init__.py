"""Amazon S3: objects of buckets."""
