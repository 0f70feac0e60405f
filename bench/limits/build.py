"""Compile the limit loops next to their sources: ``python bench/limits/build.py``.

Needs Cython and a C compiler. The results are git-ignored and no part of the package.
"""

from __future__ import annotations

import pathlib
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
DIRECTIVES = {
    "language_level": "3",
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}


def is_current() -> bool:
    """Whether every loop is compiled for this interpreter and newer than all sources."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    sources = [*HERE.glob("*.pyx"), *HERE.glob("*.pxd"), pathlib.Path(__file__)]
    newest = max(path.stat().st_mtime for path in sources)
    modules = [path.with_name(path.stem + suffix) for path in HERE.glob("*.pyx")]
    return all(module.exists() and module.stat().st_mtime >= newest for module in modules)


def build(*, force: bool = False) -> None:
    """Compile what is not current."""
    if not force and is_current():
        return
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    flags = ["/O2"] if sys.platform == "win32" else ["-O3", "-fno-strict-aliasing", "-Wno-unused-function"]
    extensions = [
        Extension(f"limits.{path.stem}", [str(path)], extra_compile_args=flags) for path in sorted(HERE.glob("*.pyx"))
    ]
    cythonized = cythonize(
        extensions,
        build_dir=str(HERE / ".build"),
        compiler_directives=DIRECTIVES,
        include_path=[str(HERE.parent)],
        force=force,
        quiet=True,
    )
    command = build_ext(
        Distribution({"name": "limits", "ext_modules": cythonized, "package_dir": {"limits": str(HERE)}})
    )
    command.inplace = True
    command.build_temp = str(HERE / ".build")
    command.ensure_finalized()
    command.run()
    for path in HERE.glob("*.pyx"):  # a module that was up to date already counts as compiled now
        path.with_name(path.stem + sysconfig.get_config_var("EXT_SUFFIX")).touch()


if __name__ == "__main__":
    build(force="--force" in sys.argv)
