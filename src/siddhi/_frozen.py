"""Frozen data: classes declared like frozen, slotted dataclasses, for which import generates no code.

A class states its fields by annotations, in a module with ``from __future__ import annotations``:

    @frozen
    class Variable:
        name: str
        source: str | None = None
        span: Span | None = field(default=None, compare=False, shown=False, kw_only=True)

Its instances compare, hash and print by their fields, as those of a dataclass do; they match by position, can be copied
and pickled, and reject assignment. The constructor is generated with the first instance, so that a class without instances
costs nothing. It is a decorator instead of a metaclass because ``isinstance`` is slow for classes with a metaclass.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import replace  # type checkers know it: they check the names and types of the changes

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):
        return lambda function: function

    def replace(old: Frozen, /, **changes: object) -> Frozen:
        """Return a copy of *old* with the given fields changed.

        Raises:
            TypeError: the class has no such field.
        """
        kind = type(old)
        values = dict(zip(kind.__names__, kind.__values__(old), strict=True))
        values.update(changes)
        return kind(**values)


__all__ = ["Field", "Frozen", "field", "fields", "frozen", "replace"]

_MISSING: Any = object()
_T = TypeVar("_T")


class Field:
    """A field of a class, as :func:`fields` lists it.

    Attributes:
        compare: whether equality and hash include it.
        shown: whether the repr includes it.
        kw_only: whether the constructor takes it by name only.
    """

    __slots__ = ("compare", "default", "default_factory", "kw_only", "name", "shown")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Callable[[], Any] | None = None,
        compare: bool = True,
        shown: bool = True,
        kw_only: bool = False,
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.compare = compare
        self.shown = shown
        self.kw_only = kw_only

    @property
    def is_required(self) -> bool:
        """Whether the constructor requires a value."""
        return self.default is _MISSING and self.default_factory is None


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
    shown: bool = True,
    kw_only: bool = False,
) -> Any:
    """Declare a field with options."""
    return Field(default=default, default_factory=default_factory, compare=compare, shown=shown, kw_only=kw_only)


class Frozen:
    """Base of all frozen classes; :func:`frozen` adds it."""

    __slots__ = ()
    __fields__: ClassVar[tuple[Field, ...]]
    __names__: ClassVar[tuple[str, ...]]
    __values__: ClassVar[Callable[[Any], Iterable[Any]]]
    __compared__: ClassVar[attrgetter[Any]]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field '{name}': a {type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field '{name}': a {type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        compared = self.__compared__
        return bool(compared(self) == compared(other))

    def __hash__(self) -> int:
        return hash(self.__compared__(self))

    def __repr__(self) -> str:
        shown = [f"{each.name}={getattr(self, each.name)!r}" for each in self.__fields__ if each.shown]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __getstate__(self) -> list[object]:
        return [getattr(self, each.name) for each in self.__fields__]

    def __setstate__(self, state: list[object]) -> None:
        for each, value in zip(self.__fields__, state, strict=True):
            object.__setattr__(self, each.name, value)


def fields(of: Any) -> tuple[Field, ...]:
    """Return the fields of a frozen object or class in the order of declaration, those of the bases first."""
    found: tuple[Field, ...] = of.__fields__
    return found


@overload
def frozen(cls: type[_T], /) -> type[_T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type | None = None, /, *, kw_only: bool = False) -> Any:
    """Return the frozen class of a declaration.

    Args:
        cls: the declaration; all its bases must be frozen classes.
        kw_only: whether the constructor takes the fields declared here by name only.

    Raises:
        TypeError: a positional field without a default follows one with a default, or a default is mutable.
    """
    if cls is None:
        return lambda declared: _made(declared, kw_only)
    return _made(cls, kw_only)


def _made(cls: type, kw_only: bool) -> type:
    found = {each.name: each for base in cls.__bases__ for each in getattr(base, "__fields__", ())}
    namespace = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    slots = []
    for name, annotation in cls.__annotations__.items():
        if annotation.startswith("ClassVar"):
            continue
        declared = namespace.pop(name, _MISSING)
        each = declared if isinstance(declared, Field) else Field(default=declared)
        if type(each.default).__hash__ is None:
            raise TypeError(f"the default of {cls.__qualname__}.{name} is mutable: use default_factory")
        each.name = name
        each.kw_only = each.kw_only or kw_only
        if name not in found:
            slots.append(name)
        found[name] = each
    positional = [each for each in found.values() if not each.kw_only]
    if positional != sorted(positional, key=lambda each: not each.is_required):
        raise TypeError(f"a positional field of {cls.__qualname__} without a default follows one with a default")
    compared = [each.name for each in found.values() if each.compare]
    namespace["__slots__"] = tuple(slots)
    namespace["__match_args__"] = tuple(each.name for each in positional)
    namespace["__fields__"] = tuple(found.values())
    namespace["__names__"] = names = tuple(found)
    # A getter of one name returns the value alone.
    namespace["__values__"] = (
        attrgetter(*names) if len(names) > 1 else lambda self: [getattr(self, each) for each in names]
    )
    # With two or more names it returns a tuple. Tuples compare identical items (such as one NaN) as equal.
    namespace["__compared__"] = attrgetter(*compared) if len(compared) > 1 else attrgetter("__class__", *compared)
    namespace["__init__"] = _first_init
    made = type(cls)(cls.__name__, (Frozen,) if cls.__bases__ == (object,) else cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _first_init(self: Frozen, *values: object, **named: object) -> None:
    """Serve as the constructor until the first instance: generate the real one, install it and call it."""
    init = _constructor(type(self))
    type.__setattr__(type(self), "__init__", init)
    init(self, *values, **named)


def _constructor(of: type[Frozen]) -> FunctionType:
    """Return a constructor that takes the fields, positional ones first, and sets their slots.

    Classes with the same number of fields share the compiled code; only names and defaults differ.
    """
    ordered = sorted(of.__fields__, key=lambda each: each.kw_only)
    positional = sum(not each.kw_only for each in ordered)
    names: dict[str, Any] = {"missing": _MISSING}
    for index, each in enumerate(ordered):
        names[f"set{index}"] = getattr(of, each.name).__set__
        names[f"make{index}"] = each.default_factory
    code = _code(tuple(each.default_factory is not None for each in ordered)).replace(
        co_argcount=1 + positional,
        co_kwonlyargcount=len(ordered) - positional,
        co_varnames=("self", *(each.name for each in ordered)),
    )
    defaults = tuple(each.default for each in ordered[:positional] if not each.is_required)
    init = FunctionType(code, names, "__init__", defaults)
    init.__kwdefaults__ = {each.name: each.default for each in ordered[positional:] if not each.is_required}
    init.__qualname__ = f"{of.__qualname__}.__init__"
    return init


@cache
def _code(made: tuple[bool, ...]) -> CodeType:
    """Return the code of a constructor with one field per item of *made*, true where a factory makes the default."""
    lines = ["def __init__(self" + "".join(f", value{index}" for index in range(len(made))) + "):", "    pass"]
    for index, by_factory in enumerate(made):
        value = f"make{index}() if value{index} is missing else value{index}" if by_factory else f"value{index}"
        lines.append(f"    set{index}(self, {value})")
    module = compile("\n".join(lines), __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))
