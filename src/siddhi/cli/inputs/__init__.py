"""What `siddhi run` reads: files, standard input and Parquet, merged by time."""
