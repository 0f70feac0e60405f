"""The built-in script language."""

from __future__ import annotations

from siddhi.extension.metadata import ScriptLanguageMetadata

__all__ = ["SCRIPT_LANGUAGES"]

SCRIPT_LANGUAGES: tuple[ScriptLanguageMetadata, ...] = (
    ScriptLanguageMetadata(
        name="python",
        builtin="python",
        description="The body of a Python function; the arguments are the list data.",
        example="define function ratio[python] return double { return data[0] / data[1] };\n"
        "from S select ratio(bid, ask) as r insert into O;",
    ),
)
