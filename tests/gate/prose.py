"""Words that documents, comments, docstrings and messages should not use, each with a replacement: ``nox -s prose``."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


def main() -> None:
    """Print what the texts of the project could say in better words. It is advice: the exit status is 0."""
    sources = [path for path in (ROOT / "src" / "siddhi").rglob("*") if path.suffix in SOURCES]
    # Decision records are never edited, so they keep their words.
    folders = [ROOT / name for name in ("docs", "bench", "changelog.d", "examples")]
    pages = [page for folder in folders for page in folder.rglob("*.md") if page.parent.name != "adr"]
    hits = [
        f"{path.relative_to(ROOT).parent.as_posix()}/{hit}"
        for path in sorted([*sources, *pages, *ROOT.glob("*.md")])
        for hit in found(path)
    ]
    print("\n".join([*hits, f"{len(hits)} places"]))


if __name__ == "__main__":
    main()
