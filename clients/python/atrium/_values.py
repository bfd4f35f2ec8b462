"""Values of variables as the server decodes and writes them."""

from __future__ import annotations

import json
from typing import Any, Tuple


class Number(str):
    """A number as the server writes it."""


def float_of(text: str) -> Number:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return Number(text)
    return Number(number_text(value))


def number_text(value: float) -> str:
    """A number as JSON of the server and of JavaScript has it: 1.0 is 1, 1e+16 is 10000000000000000."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # digits before the point
    digits = digits.rstrip("0")
    if 1e-6 <= abs(value) < 1e21:
        if point <= 0:
            return sign + "0." + "0" * -point + digits
        if point >= len(digits):
            return sign + digits + "0" * (point - len(digits))
        return sign + digits[:point] + "." + digits[point:]
    e = point - 1
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if e > 0 else '-'}{abs(e)}"


def plain(value: Any) -> Any:
    """A value as the server decodes it."""
    return json.loads(json.dumps(value), parse_float=float_of, parse_int=Number)


def encode(value: Any) -> str:
    """Compact JSON with sorted keys, as the server writes it."""
    if isinstance(value, Number):
        return value
    if isinstance(value, list):
        return "[" + ",".join(encode(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(encode(k) + ":" + encode(value[k]) for k in sorted(value)) + "}"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def type_of(value: Any) -> str:
    if isinstance(value, Number):
        return "number"
    kinds: Tuple[Tuple[type, str], ...] = ((str, "string"), (bool, "boolean"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def truthy(value: Any) -> bool:
    if isinstance(value, Number):
        return value not in ("0", "-0")
    return isinstance(value, dict) or bool(value)
