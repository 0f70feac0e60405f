"""Sources that Spark supports: files, Kafka, and DataFrames that a user binds."""
