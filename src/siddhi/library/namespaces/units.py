"""The namespace ``unitconversion``: ``<from>To<to>``, a multiplication by a constant."""

from __future__ import annotations

from fractions import Fraction

from siddhi.extension.metadata import ExtensionMetadata, NullRule, Parameter
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.type_sets import NUMERIC
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS", "factor"]

_POUND = Fraction("0.45359237")
_UNITS: tuple[dict[str, tuple[str, Fraction]], ...] = (
    {  # lengths in metres
        "Mm": ("megametres", Fraction(10**6)),
        "km": ("kilometres", Fraction(1000)),
        "m": ("metres", Fraction(1)),
        "cm": ("centimetres", Fraction(1, 100)),
        "mm": ("millimetres", Fraction(1, 1000)),
        "um": ("micrometres", Fraction(1, 10**6)),
        "nm": ("nanometres", Fraction(1, 10**9)),
        "mi": ("miles", Fraction("1609.344")),
        "yd": ("yards", Fraction("0.9144")),
        "ft": ("feet", Fraction("0.3048")),
        "in": ("inches", Fraction("0.0254")),
    },
    {  # masses in kilograms
        "t": ("tonnes", Fraction(1000)),
        "kg": ("kilograms", Fraction(1)),
        "g": ("grams", Fraction(1, 1000)),
        "mg": ("milligrams", Fraction(1, 10**6)),
        "ug": ("micrograms", Fraction(1, 10**9)),
        "lb": ("pounds", _POUND),
        "oz": ("ounces", _POUND / 16),
        "st": ("stones", _POUND * 14),
        "ST": ("short tons", _POUND * 2000),
        "LT": ("long tons", _POUND * 2240),
    },
    {  # volumes in cubic metres
        "m3": ("cubic metres", Fraction(1)),
        "l": ("litres", Fraction(1, 1000)),
        "ml": ("millilitres", Fraction(1, 10**6)),
    },
    {  # times in seconds
        "y": ("years of 365.2425 days", Fraction(31556952)),
        "d": ("days", Fraction(86400)),
        "h": ("hours", Fraction(3600)),
        "m": ("minutes", Fraction(60)),
        "s": ("seconds", Fraction(1)),
        "ms": ("milliseconds", Fraction(1, 1000)),
        "us": ("microseconds", Fraction(1, 10**6)),
        "ns": ("nanoseconds", Fraction(1, 10**9)),
    },
)
_NAMES = (
    "MmTokm cmToft cmToin cmTokm cmTom cmTomi cmTomm cmTonm cmToum cmToyd dToh gTokg gTomg gToug hTom hTos kgToLT kgToST kgTog "
    "kgTolb kgTooz kgTost kgTot kmTocm kmToft kmToin kmTom kmTomi kmTomm kmTonm kmToum kmToyd lTom3 lToml m3Tol mTocm mToft "
    "mTomm mTos mToyd miTokm mlTol sToms sTons sTous tTog tTokg yTod"
)


def _units(name: str) -> tuple[tuple[str, Fraction], tuple[str, Fraction]]:
    source, _, target = name.partition("To")
    return next((units[source], units[target]) for units in _UNITS if source in units and target in units)


def factor(name: str) -> float:
    """Return the constant of a conversion."""
    (_, source), (_, target) = _units(name)
    return float(source / target)


_conversion = Namespace("unitconversion", NullRule.NULL)


def _declare(name: str) -> ExtensionMetadata:
    (source, _), (target, _) = _units(name)
    return _conversion.function(
        name,
        takes(Parameter("p1", NUMERIC, description=source)),
        AttributeType.DOUBLE,
        f"{source[0].upper()}{source[1:]} in {target}.",
        (f"unitconversion:{name}(2)", 2 * factor(name)),
    )


EXTENSIONS: tuple[ExtensionMetadata, ...] = tuple(map(_declare, _NAMES.split()))
