"""Interface of stores, which keep the rows of tables outside the process.

@siddhi.extension.store("shelf")
class Shelf(RecordTable): ...

@store(type = 'shelf')
define table T (symbol string, price double);
"""

from siddhi.stores.expression import *  # noqa: F403
from siddhi.stores.queryable import *  # noqa: F403
from siddhi.stores.record_table import *  # noqa: F403
