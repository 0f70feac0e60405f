"""Texts of requests and answers that depend on the event: headers and URLs."""

from __future__ import annotations

import re

from siddhi.errors import MappingFailedError
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.options import header_of, headers_of
from siddhi.io.options import DynamicOptions, Option, OptionHolder, pairs_of

__all__ = ["Headers"]

_FIRST = 0xE000  # the private use area: stands for the attribute at a position while a template is parsed


class Headers:
    """The option ``headers``: names and values of headers, with attributes.

    The list is parsed before values are filled in, so that a value can't add a header. A placeholder alone stands for the
    whole list.

    Args:
        options: options of a sink.
        context: app and stream of the sink.

    Raises:
        SiddhiAppCreationError: it is not a list of headers.
    """

    def __init__(self, options: OptionHolder, context: ConnectorContext) -> None:
        option = options.option("headers", "")
        self._context = context
        self._list: Option | None = None
        self._parsed: list[list[tuple[str, str]]] = []
        if any(len(template.parts) == 1 and not template.is_static for template in option.templates):
            self._list = option
            return
        expected = "names and values such as 'X-Kind:trade','X-Symbol:{{symbol}}'"
        for template in option.templates:
            text = "".join(chr(_FIRST + part) if isinstance(part, int) else part for part in template.parts)
            try:
                pairs = list(pairs_of(text).items())
                for name, value in pairs:
                    header_of(_PLACEHOLDER.sub("x", name), value)
            except ValueError:
                raise options.invalid("headers", expected, shown=False) from None
            self._parsed.append(pairs)

    def values(self, options: DynamicOptions) -> list[tuple[str, str]]:
        """Return names and values for a payload.

        Raises:
            MappingFailedError: a value can't be one of a header.
        """
        try:
            if self._list is not None:
                return [(name.decode(), value.decode()) for name, value in headers_of(str(self._list.value(options)))]
            pairs = self._parsed[options.destination if len(self._parsed) > 1 else 0]
            filled = [(self._fill(name, options), self._fill(value, options)) for name, value in pairs]
            for name, value in filled:
                header_of(name, value)
            return filled
        except ValueError as error:
            raise MappingFailedError(str(error)) from None

    def _fill(self, text: str, options: DynamicOptions) -> str:
        event, texts = options.event, self._context.texts
        if event is None or not _PLACEHOLDER.search(text):
            return text
        data = event.data

        def value(found: re.Match[str]) -> str:
            position = ord(found[0]) - _FIRST
            return texts[position](data[position])

        return _PLACEHOLDER.sub(value, text)


_PLACEHOLDER = re.compile(f"[{chr(_FIRST)}-{chr(0xF8FF)}]")
