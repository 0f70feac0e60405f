"""Sources and sinks that Spark itself serves, by annotation or by name."""
