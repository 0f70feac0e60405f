"""Compare what a wheel or an sdist contains with what it may and must contain.

Usage: ``python wheels/contents.py dist/*`` in the checkout; exit status 1 names every file that is too many or missing.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = r"siddhi/(?:[a-z_0-9]+/)*"
WHEEL_MAY = [
    PACKAGE + r"[a-z_0-9]+\.pyi?",
    PACKAGE + r"py\.typed",
    r"siddhi/query_compiler/[a-z_0-9]+\.(?:lark|tables\.json)",
    r"siddhi/cli/spark/log4j2\.properties",
    r"siddhi/_core/[a-z_]+/[a-z_0-9]+\.px[di]",
    r"siddhi/_core/[a-z_]+/[a-z_0-9]+\.(?:cpython-|cp)[\w-]+\.(?:so|pyd)",
    r"siddhi/include/siddhi/[a-z_0-9]+\.h",
    r"siddhi-[\w.]+\.dist-info/(?:METADATA|WHEEL|RECORD|entry_points\.txt|top_level\.txt|licenses/LICENSE)",
]
SDIST_MAY = [
    r"(?:README|CHANGELOG|CONTRIBUTING)\.md|LICENSE|MANIFEST\.in|PKG-INFO|setup\.(?:py|cfg)|pyproject\.toml|noxfile\.py",
    r"include/siddhi/[a-z_0-9]+\.h",
    r"src/siddhi/(?:[a-z_0-9]+/)*(?:[a-z_0-9]+\.(?:pyi?|pyx|pxd|pxi|lark|tables\.json)|py\.typed)",
    r"src/siddhi/cli/spark/log4j2\.properties",
    r"src/siddhi\.egg-info/[\w-]+(?:\.txt)?",
    r"tests/.+\.(?:pyi?|json|jsonl|siddhi|siddhiql|error|plan|txt|csv|md|c|h|output|xz|snapshot|increment)",
    r"bench/.+\.(?:py|pyx|pxd|siddhi|json|md)",
    r"examples/.+\.(?:py|ipynb|siddhi|csv|csv\.gz|jsonl|parquet|md)",
    r"docs/.+\.md",
    r"docs/pictures/[a-z-]+\.(?:svg|py)",
    r"wheels/[a-z_]+\.py",
    r"changelog\.d/.+\.md",
]
MUST = [
    "py.typed",
    "__init__.py",
    "query_compiler/siddhiql.lark",
    "query_compiler/siddhiql.tables.json",
    "cli/spark/log4j2.properties",
]


def names(archive: Path) -> list[str]:
    """Return the files in an archive, without the directory an sdist wraps them in."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return sorted(name for name in wheel.namelist() if not name.endswith("/"))
    with tarfile.open(archive) as sdist:
        return sorted(member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile())


def surplus(found: list[str], may: list[str]) -> list[str]:
    """Return the files that no pattern allows."""
    allowed = re.compile("|".join(f"(?:{pattern})" for pattern in may))
    return [name for name in found if not allowed.fullmatch(name)]


def missing(found: list[str], package: str, checkout: Path, *, compiled: bool) -> list[str]:
    """Return what the checkout has and the archive lacks; a wheel needs a library for every .pyx instead of the .pyx."""
    wanted = {f"{package}/{name}" for name in MUST}
    source = checkout / "src" / "siddhi"
    wanted |= {f"{package}/{path.relative_to(source).as_posix()}" for path in source.rglob("*.p[yx][id]")}
    wanted |= {f"{package}/{path.relative_to(source).as_posix()}" for path in source.rglob("*.py")}
    headers = [path.relative_to(checkout).as_posix() for path in (checkout / "include").rglob("*.h")]
    wanted |= {f"{package}/{header}" if compiled else header for header in headers}
    pyx = {f"{package}/{path.relative_to(source).as_posix()}" for path in source.rglob("*.pyx")}
    if not compiled:
        return sorted((wanted | pyx) - set(found))
    libraries = {re.sub(r"\.(?:cpython-|cp)[\w-]+\.(?:so|pyd)$", ".pyx", name) for name in found}
    return sorted((wanted - set(found)) | (pyx - libraries))


def main(archives: list[str]) -> int:
    """Check every archive and print a verdict for each."""
    checkout = Path(__file__).resolve().parents[1]
    failed = not archives
    for archive in map(Path, archives):
        is_wheel = archive.suffix == ".whl"
        found = names(archive)
        too_many = surplus(found, WHEEL_MAY if is_wheel else SDIST_MAY)
        too_few = missing(found, "siddhi" if is_wheel else "src/siddhi", checkout, compiled=is_wheel)
        for name in too_many:
            print(f"{archive.name}: not on the allow-list of wheels/contents.py: {name}")
        for name in too_few:
            print(f"{archive.name}: missing: {name}")
        print(f"{archive.name}: {len(found)} files, {'as allowed' if not too_many + too_few else 'WRONG'}")
        failed |= bool(too_many or too_few)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
