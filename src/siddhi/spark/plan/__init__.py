"""What of an app runs where on Spark, and what can't: the plan cut into native steps and islands. Needs no PySpark."""
