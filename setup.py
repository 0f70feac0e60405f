from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# Switches, read from the environment. A switch adds checks or line tables; it never changes results.
#   SIDDHI_DEBUG=1       bounds and None checks, the C macro SIDDHI_DEBUG (pool poisoning, leak counts), -O1 -g
#   SIDDHI_SANITIZE=1    the debug build under AddressSanitizer and UndefinedBehaviorSanitizer (gcc or clang on Linux)
#   SIDDHI_TRACE=1       line tracing for coverage; the generated C files are next to the sources, where coverage expects them
#   SIDDHI_BUILD_JOBS=n  number of parallel translators and compilers (default: one per processor)
DEBUG, SANITIZE, TRACE = (
    os.environ.get(f"SIDDHI_{switch}", "0") not in ("", "0") for switch in ("DEBUG", "SANITIZE", "TRACE")
)
DEBUG = DEBUG or SANITIZE
JOBS = int(os.environ.get("SIDDHI_BUILD_JOBS", "0")) or os.cpu_count() or 1
MODE = ("sanitize" if SANITIZE else "debug" if DEBUG else "release") + ("-trace" if TRACE else "")
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
        if self.editable_mode or self.inplace:
            self.build_lib, self.build_temp = str(BASE / "lib"), str(BASE / "temp")


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
setup(
    ext_modules=cythonize(
        extensions(),
        nthreads=TRANSLATORS,
        include_path=["src"],
        compiler_directives=DIRECTIVES,
        build_dir=C_FILES,
    ),
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
    options={"build": {"build_base": str(BASE)}, "build_ext": {"parallel": JOBS}},
)
