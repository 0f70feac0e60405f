from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import Cython.Build.Cache
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# Switches, read from the environment. A switch adds checks or line tables; it never changes results.
#   SIDDHI_DEBUG=1       bounds and None checks, the C macro SIDDHI_DEBUG (pool poisoning, leak counts), -O1 -g
#   SIDDHI_SANITIZE=1    the debug build under AddressSanitizer and UndefinedBehaviorSanitizer (gcc or clang on Linux)
#   SIDDHI_TRACE=1       line tracing for coverage; the generated C files are next to the sources, where coverage expects them
#   SIDDHI_BUILD_JOBS=n  number of parallel translators and compilers (default: one per processor)
# Where ccache is installed, objects and translations are cached by content, so that another checkout or environment does not
# compile the same code again. Cython keeps its translations in ~/.cache/siddhi/cython, ccache its objects where it is told.
#   SIDDHI_BUILD_CACHE=0    no cache
#   SIDDHI_BUILD_CACHE=dir  Cython's translations in this folder, with or without ccache
DEBUG, SANITIZE, TRACE = (
    os.environ.get(f"SIDDHI_{switch}", "0") not in ("", "0") for switch in ("DEBUG", "SANITIZE", "TRACE")
)
DEBUG = DEBUG or SANITIZE
JOBS = int(os.environ.get("SIDDHI_BUILD_JOBS", "0")) or os.cpu_count() or 1
MODE = ("sanitize" if SANITIZE else "debug" if DEBUG else "release") + ("-trace" if TRACE else "")
CCACHE = shutil.which("ccache") if sys.platform != "win32" else None
CACHE = os.environ.get("SIDDHI_BUILD_CACHE", str(Path("~/.cache/siddhi/cython").expanduser()) if CCACHE else "0")
if CACHE == "0":
    CACHE = CCACHE = None
BASE = Path("build", MODE)  # one directory of objects per mode, so that switching modes does not rebuild them

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "nonecheck": DEBUG,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
    "linetrace": TRACE,
}
MACROS = [("SIDDHI_DEBUG", "1")] * DEBUG + [("CYTHON_TRACE_NOGIL", "1")] * TRACE
if sys.platform == "win32":
    FLAGS = ["/Od", "/Zi"] if DEBUG else ["/O2"]
else:
    # Cells of an event record are accessed through pointers of several types, which strict aliasing does not allow.
    FLAGS = (["-O1", "-g"] if DEBUG else ["-O3", "-g0"]) + ["-fno-strict-aliasing", "-fwrapv"]
if SANITIZE:
    if not sys.platform.startswith("linux"):
        sys.exit(
            "SIDDHI_SANITIZE=1 requires Linux: on other systems the sanitizers' library can't be preloaded into Python"
        )
    # No check of signed overflow: -fwrapv defines it, since SiddhiQL's integers wrap as Java's do. float-cast-overflow is
    # not included in `undefined`, but conversions out of range are undefined in C, and SiddhiQL has such conversions.
    SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize=signed-integer-overflow"]
    FLAGS += [*SANITIZERS, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    LINKS = SANITIZERS
else:
    LINKS = []
HEADERS = sorted(map(str, Path("include").rglob("*.h")))


class BuildPy(build_py):
    """Copies the C headers of include/ into the package, to the path of ``siddhi.get_include()``."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "siddhi", "include")
            shutil.copytree("include", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))


class BuildExt(build_ext):
    """Keeps the objects of an editable install or ``--inplace`` in build/, so that the next run compiles only changes."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or JOBS  # an editable install forgets the options that setup() is given
        if self.editable_mode or self.inplace:
            self.build_lib, self.build_temp = str(BASE / "lib"), str(BASE / "temp")

    def build_extensions(self) -> None:
        # An environment's own folder of headers has a path of its own and, as a rule, no header in it: the path alone would
        # make every object another one.
        self.compiler.include_dirs = [path for path in self.compiler.include_dirs if any(Path(path).glob("**/*.h"))]
        if CCACHE:
            # Paths relative to the checkout, and none of its own in the key: other checkouts find the object, too.
            os.environ.setdefault("CCACHE_BASEDIR", str(Path.cwd()))
            os.environ.setdefault("CCACHE_NOHASHDIR", "1")
            self.compiler.set_executable("compiler_so", [CCACHE, *self.compiler.compiler_so])
        super().build_extensions()


def hash_of_file(path: str, hashed: Callable[[str], str] = Cython.Build.Cache.file_hash) -> str:
    """Return what a file adds to the key of a translation.

    Cython adds the path, too. Its own declarations lie in another folder in each isolated build; their names are enough,
    since its version is in the key.
    """
    own = Path(Cython.__file__).parent
    return Path(path).relative_to(own).as_posix() if Path(path).is_relative_to(own) else hashed(path)


@contextmanager
def hints_stay_uncached() -> Iterator[None]:
    """Pass on what Cython prints, and empty its cache where it warned: a cached translation would not warn again."""
    with tempfile.TemporaryFile() as printed:
        sys.stdout.flush()
        sys.stderr.flush()
        streams = [os.dup(1), os.dup(2)]  # of the process: translators are processes of their own
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, stream in enumerate(streams, 1):
                os.dup2(stream, number)
                os.close(stream)
            printed.seek(0)
            text = printed.read().decode(errors="replace")
            sys.stdout.write(text)
            sys.stdout.flush()
            if CACHE and re.search(r"^(?:performance hint|warning): ", text, re.MULTILINE):
                shutil.rmtree(CACHE, ignore_errors=True)


def extensions() -> list[Extension]:
    """Return one extension per .pyx file of src/siddhi/_core; its name is its path."""
    sources = sorted(Path("src/siddhi/_core").rglob("*.pyx"))
    settings = {
        "include_dirs": ["include"],
        "define_macros": MACROS,
        "extra_compile_args": FLAGS,
        "extra_link_args": LINKS,
        "depends": HEADERS,
    }
    return [Extension(".".join(path.with_suffix("").parts[1:]), [str(path)], **settings) for path in sources]


# A build under sanitizers has the C files of the debug build.
C_FILES = None if TRACE else str(Path("build", "debug" if DEBUG else "release", "c"))
# Where processes are started anew instead of forked, each would run this file.
TRANSLATORS = JOBS if sys.platform == "linux" and JOBS > 1 else 0
Cython.Build.Cache.file_hash = hash_of_file
with hints_stay_uncached():
    modules = cythonize(
        extensions(),
        nthreads=TRANSLATORS,
        include_path=["src"],
        compiler_directives=DIRECTIVES,
        build_dir=C_FILES,
        cache=CACHE,
    )
setup(
    ext_modules=modules,
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
    options={"build": {"build_base": str(BASE)}},
)
