"""The layout of an app on Spark: its plan cut into Catalyst stages and engine fragments. Needs no PySpark."""
