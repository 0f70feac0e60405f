"""SiddhiQL text to and from the object model of ``siddhi.query_api``."""

from siddhi.query_compiler.parser import parse, parse_expression, parse_on_demand_query, parse_query, parse_time
from siddhi.query_compiler.print.app import to_siddhiql

__all__ = ["parse", "parse_expression", "parse_on_demand_query", "parse_query", "parse_time", "to_siddhiql"]
