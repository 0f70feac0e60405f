"""Words that documents, comments, docstrings and messages must not use, each with a replacement."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".pxi"}

# Pattern, and what to write; what a group of a pattern matches makes the use rightful.
WORDS = {
    r"(there )?is no (?!longer|more|other|such|worse|further)[a-z]+": "is not a ...; in errors: invalid ..., expected ...",
    r"(?:put|puts|putting) out": "emit",
    r"puts? aside|waiting rows": "buffer, watermark buffer",
    r"(?:gives?|gave|given) (?:up|back)": "release, remove, return",
    r"lets? go of": "release, remove",
    r"takes? away": "remove, subtract",
    r"hand(?:s|ed)? out": "return, emit",
    r"at hand|at work": "current, running",
    r"islands?": "engine fragment",
    r"(?:in)?separab(?:le|ly|ility)": "distribution, distributed by",
    r"parcels?": "record batch",
    r"dives?": "recursion check, depth limit",
    r"slabs?": "arena",
    r"outlets?": "column writer, output writer",
    r"doors?": "input schema, entry, interface",
    r"(?:is|are|was|were|be) told": "is reported, is warned, receives",
    r"behind (?:it|them|that|this)": "after it, downstream",
    r"what is wrong with": "the error of, invalid ...",
    r"for ever": "indefinitely, without end",
    r"nobody": "no caller, no thread, no receiver",
    r"whoever": "the caller, each receiver",
    r"vouch(?:es|ed)?": "trust",
    r"lends?|lent": "borrow, borrowed",
    r"asked for": "requested, needed",
    r"lets? in": "accept, allow",
    r"keeps? (?:arguments|totals) only": "fused window aggregate",
    r"overt(?:akes?|ook|aken|aking)": "reorder",
    r"strays?": "lexer error, unexpected character",
    r"native steps?": "Catalyst stage",
}
PATTERNS = [  # a phrase may continue on the next line
    (re.compile(r"\b(?:{})\b".format(pattern.replace(" ", r"\s+")), re.IGNORECASE), instead)
    for pattern, instead in WORDS.items()
]
LINK = re.compile(r"\]\([^)\s]*\)")


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of the string literals of a file, docstrings included."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".py", ".pyi"}:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):  # Cython has the tokens of Python
        if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield token.start[0], token.string


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of the comments of a file; the lines of a block are one text."""
    last, first, block = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("# ")
        if line == last + 1 and not token.line[: token.start[1]].strip():
            block += "\n" + text
        else:
            yield first, block
            first, block = line, text
        last = line
    yield first, block


def texts(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix == ".md":
        yield 1, LINK.sub("]", path.read_text(encoding="utf-8"))
    else:
        yield from ((line, text) for line, text in strings(path) if " " in text)  # else it is a name or a key
        yield from comments(path)


def found(path: Path) -> list[str]:
    return [
        f"{path.name}:{line + text.count(chr(10), 0, match.start())}: '{' '.join(match[0].split())}': write {instead}"
        for line, text in texts(path)
        for pattern, instead in PATTERNS
        for match in pattern.finditer(text)
        if not match.lastindex
    ]


def test_source_files_use_no_word_of_the_list() -> None:
    files = [path for path in sorted((ROOT / "src" / "siddhi").rglob("*")) if path.suffix in SOURCES]
    assert len(files) > 400
    assert [hit for path in files for hit in found(path)] == []


# Decision records are never edited, so they keep their words.
DOCUMENTS = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "adr"),
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "bench").rglob("*.md")),
    *sorted((ROOT / "changelog.d").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_use_no_word_of_the_list(path: Path) -> None:
    assert found(path) == []


def test_words_are_found_in_every_kind_of_text(tmp_path: Path) -> None:
    for name, text in {
        "a.py": 'x = 1\nraise ValueError(f"{x} is no time")\n',
        "b.pyx": 'cdef int f() except -1:  # the event at\n    # hand\n    """Give\n    up a state."""\n',
        "c.md": "A row that is\nput out. [The door](adr/door.md)\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [hit.split(":")[:3] for name in ("a.py", "b.pyx", "c.md") for hit in found(tmp_path / name)] == [
        ["a.py", "2", " 'is no time'"],
        ["b.pyx", "3", " 'Give up'"],
        ["b.pyx", "1", " 'at hand'"],
        ["c.md", "2", " 'put out'"],
        ["c.md", "2", " 'door'"],
    ]
