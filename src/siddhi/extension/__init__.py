"""Extensions: their metadata, the registry, and the decorators that declare them."""

from siddhi.extension.connectors import *  # noqa: F403
from siddhi.extension.declaring import ArgumentSpec  # noqa: F401
from siddhi.extension.decorators import *  # noqa: F403
from siddhi.extension.docgen import *  # noqa: F403
from siddhi.extension.incremental import *  # noqa: F403
from siddhi.extension.metadata import *  # noqa: F403
from siddhi.extension.processors import *  # noqa: F403
from siddhi.extension.registry import *  # noqa: F403
