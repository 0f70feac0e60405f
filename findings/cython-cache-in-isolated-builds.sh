#!/usr/bin/env bash
# Cython 3.1.2: cythonize(cache=...) and builds in isolated environments (PEP 517).
#
# Expected: the cache is by content, so the same sources and the same Cython, installed in another environment, are found in it.
# Seen: the key of a translation contains the absolute path of each .pxd file of Cython itself that a module cimports, however
# indirectly. pip builds in an environment in a new temporary folder each time, so a module that says
# `from libc.stdlib cimport malloc` is never found again, while one without such an import is.
#
#   first environment:  translated 2, from the cache 0
#   second environment: translated 1, from the cache 1
#   same environment:   translated 0, from the cache 2
#
# siddhi: setup.py leaves the folder of Cython out of the key; Cython's version is in it anyway.
set -euo pipefail
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
for name in first second; do
    python3 -m venv "$box/$name"
    "$box/$name/bin/pip" install -q --disable-pip-version-check Cython==3.1.2 setuptools==80.9.0
done
mkdir "$box/sources"
cat > "$box/sources/plain.pyx" <<'PYX'
def double(int x):
    return 2 * x
PYX
cat > "$box/sources/uses_libc.pyx" <<'PYX'
from libc.stdlib cimport abs

def distance(int x, int y):
    return abs(x - y)
PYX
translate() {  # in environment $1: the sources alone are copied, as another checkout has them
    rm -rf "$box/checkout" && cp -r "$box/sources" "$box/checkout"
    (cd "$box/checkout" && "$box/$1/bin/python" -c '
import sys
from Cython.Build import cythonize
cythonize(["plain.pyx", "uses_libc.pyx"], cache=sys.argv[1], language_level=3)
' "$box/cache" 2>&1) | sed -n 's/.*\(Cythonizing\|Found compiled\).*/\1/p' | sort | uniq -c | tr -s ' \n' ' '
}
first=$(translate first)
second=$(translate second)
same=$(translate second)
printf 'first environment: %s\nsecond environment: %s\nsame environment: %s\n' "$first" "$second" "$same"
[ "$first" = " 2 Cythonizing " ] && [ "$second" = " 1 Cythonizing 1 Found compiled " ] && [ "$same" = " 2 Found compiled " ]
