"""Sources that Spark itself serves: files, Kafka, and DataFrames that a user binds."""
