"""Script functions: arguments, forms of bodies, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import SiddhiManager
from siddhi.errors import ExtensionNotFoundError, SiddhiAppCreationError
from siddhi.extension import builtin_registry
from siddhi.extension.metadata import ScriptLanguageMetadata
from siddhi.query_api.definition import FunctionDefinition
from siddhi.query_compiler.parser import parse
from siddhi.runtime.scripts import compile_script
from siddhi.types import AttributeType


def definition(body: str, language: str = "python") -> tuple[FunctionDefinition, str]:
    """A definition as the compiler makes it, and the app's text."""
    text = f"define stream S (a int);\n define function f[{language}] return int {{{body}}};\n"
    app = parse(text + "from S select a insert into O;")
    assert isinstance(app.definitions[1], FunctionDefinition)
    assert app.definitions[1].body == body
    return app.definitions[1], text


def compiled(body: str) -> Any:
    function, text = definition(body)
    return compile_script(function, source=text)


def refused(body: str) -> SiddhiAppCreationError:
    function, text = definition(body)
    with pytest.raises(SiddhiAppCreationError) as caught:
        compile_script(function, source=text)
    error = caught.value.located(source=text)
    assert isinstance(error, SiddhiAppCreationError)
    return error


def marked(error: SiddhiAppCreationError) -> str:
    """The piece of the text that an error points at."""
    assert error.span is not None
    assert error.source is not None
    return error.source.split("\n")[error.span.line - 1][error.span.column : error.span.end_column]


# --- what a body sees


def test_the_arguments_are_the_list_data() -> None:
    script = compiled("return (type(data).__name__, data)")
    assert script(1, "a", None) == ("list", [1, "a", None])
    assert script() == ("list", [])


def test_every_call_has_its_own_data() -> None:
    script = compiled("\n data.append(1)\n return len(data)\n")
    assert [script(7), script(7)] == [2, 2]


def test_globals_are_kept_per_function() -> None:
    body = "\n global n\n n = globals().get('n', 0) + data[0]\n return n\n"
    one, other = compiled(body), compiled(body)
    assert [one(2), one(3), other(1)] == [2, 5, 1]


def test_the_function_has_its_name() -> None:
    assert compiled("return 1").__name__ == "f"


def test_bodies_can_import() -> None:
    assert compiled("\n import math\n return math.floor(data[0])\n")(2.5) == 2


# --- how it may be written


@pytest.mark.parametrize(
    "body",
    [
        "return data[0] + 1",
        " return data[0] + 1; ",
        "\nreturn data[0] + 1\n",
        "\n    x = data[0]\n    return x + 1\n",
        "\n\n\tx = data[0]\n\n\treturn x + 1\n\n",
        " x = data[0]\n   return x + 1\n",
        " if data[0]:\n      return data[0] + 1\n",
        " if not data[0]:\n          return 0\n    return data[0] + 1\n",
        " # first\n    x = data[0]\n# second\n    return x + 1  # third\n",
        "\r\n    x = data[0]\r\n    return x + 1\r\n",
        "\n    if data[0]:\n        return data[0] + 1\n    else:\n        return 0\n",
        "\n    def inner(x):\n        return x + 1\n    return inner(data[0])\n",
        " return (data[0] +\n  1)",
        "\n    return {'k': data[0] + 1}['k']\n",
    ],
)
def test_any_indentation_is_accepted(body: str) -> None:
    assert compiled(body)(6) == 7


def test_a_multi_line_string_is_unchanged() -> None:
    assert compiled("\n    return '''a\n      b\n c'''\n")() == "a\n      b\n c"


# --- how it is refused


@pytest.mark.parametrize(
    ("body", "line", "piece", "message"),
    [
        (" return 1 +* 2 ", 2, "*", "invalid syntax"),
        ("return 1 +* 2", 2, "*", "invalid syntax"),
        ("\n    x = 1 +* 2\n    return x\n", 3, "*", "invalid syntax"),
        ("\nx = 1\nreturn 1 +* 2\n", 4, "*", "invalid syntax"),
        (" x = 1 +* 2\n    return x\n", 2, "*", "invalid syntax"),
        (" x = 1\n    return 1 +* 2\n", 3, "*", "invalid syntax"),
        ("\n    x = 1\n  return x\n", 4, "", "unindent does not match"),
        ("\n    x = 1\nreturn x\n", 4, "r", "unindent does not match"),
        ("\n    x = 1\n      return x\n", 4, "", "unexpected indent"),
        ("\n    return await g()\n", 3, "await g()", "'await' outside async function"),
        ("\n    break\n    return 1\n", 3, "break", "'break' outside loop"),
        ("\n    nonlocal y\n    return y\n", 3, "nonlocal y", "nonlocal"),
    ],
)
def test_a_syntax_error_shows_its_location_in_the_app(body: str, line: int, piece: str, message: str) -> None:
    error = refused(body)
    assert error.code == "E332"
    assert error.line == line
    assert "script function 'f' is not Python: " in error.message
    assert message in error.message
    assert marked(error).startswith(piece)


def test_lines_in_messages_are_lines_of_the_app() -> None:
    error = refused("\n    if data:\n    return 1\n")
    assert error.line == 4
    assert error.message.endswith("expected an indented block after 'if' statement on line 3")


def test_a_definition_without_location_shows_the_line_of_the_body() -> None:
    function = FunctionDefinition("f", "python", AttributeType.INT, "\n x = \n return x")
    with pytest.raises(SiddhiAppCreationError, match=r"invalid syntax, in line 2 of its body"):
        compile_script(function)


@pytest.mark.parametrize("body", ["", "  \n ", "data[0] + 1", "# nothing\n", "\n def g():\n  return 1\n"])
def test_a_body_that_returns_nothing_is_refused(body: str) -> None:
    error = refused(body)
    assert "returns nothing" in error.message
    assert "'return" in (error.hint or "")


@pytest.mark.parametrize("body", ["yield 1", "\n yield from data\n return 1\n"])
def test_a_body_that_yields_is_refused(body: str) -> None:
    assert "uses 'yield'" in refused(body).message


def test_a_body_that_only_raises_is_accepted() -> None:
    with pytest.raises(ValueError, match="no"):
        compiled("raise ValueError('no')")()


# --- trust and languages

APP = (
    "define stream S (a int, b double);\n"
    "define function f[{language}] return double {{\n    a, b = data\n    return {result}\n}};\n"
    "from S select f(a, b) as x insert into O;\n"
)


def test_an_untrusted_app_cannot_run_scripts() -> None:
    with pytest.raises(SiddhiAppCreationError, match="not trusted") as caught:
        SiddhiManager(allow_scripts=False).create_siddhi_app_runtime(APP.format(language="python", result="a"))
    assert caught.value.code == "E330"
    assert caught.value.line == 2


def test_another_language_is_refused_with_a_hint() -> None:
    function, text = definition("return 1;", "javascript")
    with pytest.raises(SiddhiAppCreationError, match="language 'javascript'") as caught:
        compile_script(function, source=text)
    assert "define function f[python] return int" in (caught.value.hint or "")


def test_an_app_in_another_language_is_refused() -> None:
    with pytest.raises(ExtensionNotFoundError, match="unknown script language 'javascript'"):
        SiddhiManager().create_siddhi_app_runtime(APP.format(language="javascript", result="a"))


def test_language_names_are_case_insensitive() -> None:
    function, text = definition("return 1", "Python")
    assert builtin_registry().script_language("Python") is builtin_registry().script_language("python")
    assert compile_script(function, source=text)() == 1


def test_a_registered_language_compiles_its_bodies() -> None:
    def compile_constant(function: FunctionDefinition) -> Any:
        return lambda *_data: int(function.body)

    language = ScriptLanguageMetadata(name="constant", implementation=compile_constant)
    function, _ = definition("42", "constant")
    assert compile_script(function, language=language)(1, 2) == 42


def test_a_script_runs_in_an_app() -> None:
    outputs: list[Any] = []
    text = APP.format(language="python", result="None if b is None else a + b")
    with SiddhiManager().create_siddhi_app_runtime(text) as runtime:
        runtime.add_callback("O", lambda events: outputs.extend(event.data for event in events))
        runtime.input_handler("S").send((1, 2.5))
        runtime.input_handler("S").send((1, None))
    assert outputs == [(3.5,), (None,)]


def test_a_failing_script_is_handled_with_its_name() -> None:
    errors: list[BaseException] = []
    with SiddhiManager().create_siddhi_app_runtime(APP.format(language="python", result="a / 0")) as runtime:
        runtime.handle_exception_with(lambda error, _origin, _events: errors.append(error))
        runtime.input_handler("S").send((1, 2.5))
    (error,) = errors
    chain = []
    link: BaseException | None = error
    while link is not None:
        chain.append(link)
        link = link.__cause__
    assert any("function 'f' failed: ZeroDivisionError" in str(link) for link in chain)
    assert isinstance(chain[-1], ZeroDivisionError)
