"""Where the schema of an Avro mapper comes from: an option, a file, a schema registry, or the stream."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from urllib.parse import quote

import httpx2

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.extension.local_files import local_path
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.avro_schema import AvroSchema, generated
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context, refuse_java_stores

__all__ = ["FRAME_BYTES", "SchemaRegistry", "frame", "frame_id", "registry_of", "schema_of"]

logger = logging.getLogger("siddhi")

FRAME_BYTES = 5
"""Length of the frame before the data: a byte 0, and the id of the schema as int32, big-endian."""

_TIMEOUT_SECONDS = 10.0
_LARGEST_ANSWER = 4_000_000
_MOST_REFERENCES = 100
_MOST_CACHED = 1000


class SchemaRegistry:
    """Client of a schema registry with the REST interface of Confluent's.

    Args:
        options: ``schema.registry`` is the URL; also those of TLS and ``basic.auth.username`` and ``…password``.

    Raises:
        SiddhiAppCreationError: an option is invalid.
    """

    def __init__(self, options: OptionHolder) -> None:
        self._url = options.static("schema.registry").strip().rstrip("/")
        if not self._url.lower().startswith(("http://", "https://")):
            raise options.invalid("schema.registry", "a URL that begins with http:// or https://", shown=False)
        try:
            httpx2.URL(self._url)
        except httpx2.InvalidURL:
            raise options.invalid("schema.registry", "a valid URL", shown=False) from None
        user, password = options.secret("basic.auth.username"), options.secret("basic.auth.password")
        if (user is None) != (password is None):
            name = "basic.auth.username" if password is None else "basic.auth.password"
            raise options.invalid(name, "both 'basic.auth.username' and 'basic.auth.password'", shown=False)
        self._auth = None if user is None or password is None else httpx2.BasicAuth(user, password)
        self._tls = client_context(options)
        self._schemas: dict[int, AvroSchema] = {}
        self._lock = threading.Lock()

    def schema(self, id_: int) -> AvroSchema:
        """Return the schema with an id; each is requested once.

        Raises:
            MappingFailedError: the registry can't be reached, or it has no Avro schema with this id.
        """
        with self._lock:
            found = self._schemas.get(id_)
        if found is None:
            answer = self._get(f"/schemas/ids/{id_}")
            if answer.get("schemaType", "AVRO") != "AVRO":
                raise MappingFailedError(f"schema {id_} of the registry is of type {answer['schemaType']}, not AVRO")
            try:
                found = AvroSchema(*self._with_references(answer))
            except SiddhiAppCreationError as error:
                raise MappingFailedError(f"schema {id_} of the registry: {error.message}") from error
            with self._lock:
                if len(self._schemas) >= _MOST_CACHED:
                    self._schemas.pop(next(iter(self._schemas)))
                self._schemas[id_] = found
        return found

    def _with_references(self, answer: dict[str, object]) -> tuple[str, tuple[str, ...]]:
        """Return the text of a schema and those of the schemas it refers to, without references first."""
        found: dict[tuple[str, str], str] = {}

        def collect(answer: dict[str, object], depth: int) -> str:
            references = answer.get("references") or ()
            if depth > _MOST_REFERENCES or len(found) > _MOST_REFERENCES:
                raise MappingFailedError(f"the schema of the registry has more than {_MOST_REFERENCES} references")
            if not isinstance(references, list) and references != ():
                raise MappingFailedError("the answer of the schema registry has invalid references")
            for reference in references:
                subject, version = str(reference.get("subject")), str(reference.get("version"))
                if (subject, version) not in found:
                    path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
                    text = collect(self._get(path), depth + 1)
                    found[subject, version] = text
            schema = answer.get("schema")
            if not isinstance(schema, str):
                raise MappingFailedError("the answer of the schema registry has no schema")
            return schema

        text = collect(answer, 0)
        return text, tuple(found.values())

    def _get(self, path: str) -> dict[str, object]:
        try:
            with (
                httpx2.Client(auth=self._auth, verify=self._tls, timeout=_TIMEOUT_SECONDS) as client,
                client.stream("GET", self._url + path, headers={"Accept": "application/json"}) as response,
            ):
                content = b""
                for part in response.iter_bytes():
                    content += part
                    if len(content) > _LARGEST_ANSWER:
                        raise MappingFailedError(
                            f"the answer of the schema registry has more than {_LARGEST_ANSWER} bytes"
                        )
                status = response.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            # The URL may contain a password.
            raise MappingFailedError(
                f"the schema registry can't be reached: {type(error).__name__}: {error}"
            ) from error
        if status != 200:
            raise MappingFailedError(f"the schema registry answered {path} with status {status}")
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise MappingFailedError(f"the answer of the schema registry to {path} is not a JSON object")
        return answer


def frame(id_: int) -> bytes:
    """Return the frame before data that was written with the schema of an id."""
    return b"\0" + id_.to_bytes(4, "big")


def frame_id(payload: bytes) -> int:
    """Return the id of the schema in the frame of a payload.

    Raises:
        MappingFailedError: the payload has no frame.
    """
    if len(payload) < FRAME_BYTES or payload[0] != 0:
        raise MappingFailedError("the payload does not begin with a byte 0 and the id of a schema")
    return int.from_bytes(payload[1:FRAME_BYTES], "big")


def registry_of(options: OptionHolder) -> SchemaRegistry | None:
    """Return the registry of the option ``schema.registry``; None without it.

    Raises:
        SiddhiAppCreationError: an option is invalid or not supported.
    """
    refuse_java_stores(options)
    return SchemaRegistry(options) if "schema.registry" in options else None


def schema_of(
    mapper: str, options: OptionHolder, registry: SchemaRegistry | None, context: ConnectorContext
) -> AvroSchema:
    """Return the schema of a mapper: ``schema.def``, else ``schema.file``, else ``schema.id`` of the registry, else that of the
    stream, with a warning.

    Raises:
        SiddhiAppCreationError: the schema is invalid, can't be read, or can't be generated.
    """
    if "schema.def" in options:
        return AvroSchema(options.static("schema.def"))
    if "schema.file" in options:
        path = local_path(options.static("schema.file"))
        if path is None:
            raise options.invalid("schema.file", "a local file")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise options.invalid("schema.file", f"a file that can be read: {type(error).__name__}") from error
        return AvroSchema(text)
    if registry is not None:
        try:
            return registry.schema(options.integer("schema.id", most=2**31 - 1))
        except MappingFailedError as error:
            raise SiddhiAppCreationError(f"{mapper}: {error}", code="E326") from error
    text = generated(context.stream, context.attributes)
    logger.warning("app '%s', stream '%s': %s has no schema, and uses %s", context.app, context.stream, mapper, text)
    return AvroSchema(text)
