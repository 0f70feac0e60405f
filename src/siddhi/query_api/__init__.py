"""What a Siddhi app says: frozen dataclasses with their place in the text. Nothing is resolved or typed here."""

from siddhi.query_api.annotation import *  # noqa: F403
from siddhi.query_api.app import *  # noqa: F403
from siddhi.query_api.definition import *  # noqa: F403
from siddhi.query_api.expression import *  # noqa: F403
from siddhi.query_api.input import *  # noqa: F403
from siddhi.query_api.on_demand import *  # noqa: F403
from siddhi.query_api.query import *  # noqa: F403
from siddhi.query_api.selection import *  # noqa: F403
from siddhi.query_api.span import *  # noqa: F403
