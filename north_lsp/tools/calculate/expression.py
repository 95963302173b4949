"""Evaluates an expression with rational numbers, so that nothing is rounded that need not be. What it may cost is
bounded before each step: the length of the expression, its depth and the size of every number."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, DecimalException
from fractions import Fraction

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

LONGEST = 1000
_SECONDS = 0.1
_DEEPEST = 60
_MOST_BITS = 12_000
_DIGITS = 50
_LONGEST_EXPONENT = 3
_CONTEXT = Context(prec=_DIGITS, Emin=-9999, Emax=9999)
_TOKEN = lazy_pattern(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*)|(?P<sign>\*\*|//|[-+*/%(),^]))"
)
_BASES = {"0x": 16, "0b": 2, "0o": 8}


class _Wrong(Exception):
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at


@dataclass(frozen=True)
class Value:
    """A number; unless it is `exact`, it is near the true one."""

    number: Fraction
    exact: bool = True

    def shown(self) -> str:
        """Return it as decimals: all of them if there are few, else the first."""
        number = self.number
        if number.denominator == 1:
            return str(number.numerator)
        places = _places(number.denominator)
        if self.exact and places is not None and places <= _DIGITS:
            scaled = abs(number.numerator) * 10**places // number.denominator
            whole, rest = divmod(scaled, 10**places)
            return f"{'-' if number < 0 else ''}{whole}.{rest:0{places}d}"
        near = _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
        return str(near if self.exact else near.normalize(Context(prec=15)))


def evaluate(text: str) -> Value:
    """Evaluate an expression. Raises ToolError that names the position."""
    if len(text) > LONGEST:
        raise ToolError("TOO_LARGE", f"the expression has {len(text)} characters; at most {LONGEST} are evaluated")
    try:
        return _Parser(text).value()
    except _Wrong as wrong:
        position = wrong.at + 1
        shown = text[max(wrong.at - 20, 0) : wrong.at] + "→" + text[wrong.at : wrong.at + 20]
        raise ToolError(
            "INVALID_INPUT", f"position {position}: {wrong} ({shown})", None, {"position": position}
        ) from None


class _Parser:
    """Reads and evaluates at the same time, from left to right."""

    def __init__(self, text: str) -> None:
        self._end = time.monotonic() + _SECONDS
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def value(self) -> Value:
        found = self._sum()
        if (left := self._peek()) is not None:
            raise _Wrong(left[2], f"unexpected {left[1]!r}")
        return found

    def _peek(self) -> tuple[str, str, int] | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, *signs: str) -> tuple[str, int] | None:
        token = self._peek()
        if token is None or token[0] != "sign" or token[1] not in signs:
            return None
        self._next += 1
        return token[1], token[2]

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            token = self._peek()
            at = token[2] if token is not None else len(self._text)
            raise _Wrong(at, f"expected {sign!r}")

    def _sum(self) -> Value:
        left = self._product()
        while (sign := self._take("+", "-")) is not None:
            left = self._applied(sign, left, self._product())
        return left

    def _product(self) -> Value:
        left = self._signed()
        while (sign := self._take("*", "/", "//", "%")) is not None:
            left = self._applied(sign, left, self._signed())
        return left

    def _signed(self) -> Value:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign[0] == "-"
        found = self._power()
        return Value(-found.number, found.exact) if negative else found

    def _power(self) -> Value:
        base = self._primary()
        if (sign := self._take("**", "^")) is None:
            return base
        self._deeper(sign[1])
        exponent = self._signed()
        self._depth -= 1
        return self._applied(("**", sign[1]), base, exponent)

    def _primary(self) -> Value:
        token = self._peek()
        if token is None:
            raise _Wrong(len(self._text), "the expression ends too early")
        kind, text, at = token
        if kind == "number":
            self._next += 1
            return self._bounded(Value(_number(text, at)), at)
        if kind == "name":
            self._next += 1
            return self._named(text.lower(), at)
        if text != "(":
            raise _Wrong(at, f"unexpected {text!r}")
        self._next += 1
        self._deeper(at)
        found = self._sum()
        self._expect(")")
        self._depth -= 1
        return found

    def _named(self, name: str, at: int) -> Value:
        if name in _CONSTANTS:
            return Value(Fraction(_CONSTANTS[name]), exact=False)
        if name not in _FUNCTIONS:
            known = ", ".join([*_FUNCTIONS, *_CONSTANTS])
            raise _Wrong(at, f"there is no {name!r}; known are {known}")
        self._expect("(")
        self._deeper(at)
        given = [self._sum()]
        while self._take(",") is not None:
            given.append(self._sum())
        self._expect(")")
        self._depth -= 1
        least, most, work = _FUNCTIONS[name]
        if not least <= len(given) <= most:
            raise _Wrong(at, f"{name} takes {least if least == most else f'{least} or more'} values, not {len(given)}")
        return self._guarded(lambda: work(given), at)

    def _deeper(self, at: int) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Wrong(at, "nested too deeply")

    def _applied(self, sign: tuple[str, int], left: Value, right: Value) -> Value:
        name, at = sign
        return self._guarded(lambda: _operation(name, left, right), at)

    def _guarded(self, work: Callable[[], Value], at: int) -> Value:
        if time.monotonic() > self._end:
            raise _Wrong(at, "it takes too long")
        try:
            return self._bounded(work(), at)
        except ZeroDivisionError:
            raise _Wrong(at, "division by zero") from None
        except (ValueError, OverflowError, DecimalException) as error:
            plain = isinstance(error, ValueError) and not isinstance(error, DecimalException)
            what = str(error) if plain and str(error) else "the result cannot be represented"
            raise _Wrong(at, what) from None

    def _bounded(self, value: Value, at: int) -> Value:
        if max(value.number.numerator.bit_length(), value.number.denominator.bit_length()) > _MOST_BITS:
            raise _Wrong(at, "the number has more than 3,600 digits")
        return value


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _Wrong(at, f"unexpected {text[at]!r}")
        found.append((token.lastgroup, token[token.lastgroup], token.start(token.lastgroup)))
        at = token.end()
    return found


def _number(text: str, at: int) -> Fraction:
    plain = text.replace("_", "").lower()
    if (base := _BASES.get(plain[:2])) is not None:
        if len(plain) == 2:
            raise _Wrong(at, f"{text!r} has no digits")
        return Fraction(int(plain[2:], base))
    if len(plain.partition("e")[2].lstrip("+-").lstrip("0")) > _LONGEST_EXPONENT:
        raise _Wrong(at, "the exponent is too large")
    return Fraction(plain)


def _operation(name: str, left: Value, right: Value) -> Value:
    a, b, exact = left.number, right.number, left.exact and right.exact
    match name:
        case "+":
            return Value(a + b, exact)
        case "-":
            return Value(a - b, exact)
        case "*":
            return Value(a * b, exact)
        case "/":
            return Value(a / b, exact)
        case "//":
            return Value(Fraction(a // b), exact)
        case "%":
            return Value(a % b, exact)
        case _:
            return _raised(a, b, exact)


def _raised(base: Fraction, exponent: Fraction, exact: bool) -> Value:
    if exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent) * max(bits - 1, 0) > _MOST_BITS:
            raise ValueError("the number has more than 3,600 digits")
        return Value(Fraction(base ** int(exponent)), exact)
    if base < 0:
        raise ValueError("a root of a negative number is not real")
    if exponent == Fraction(1, 2):
        return _root([Value(base, exact)])
    return _near(_CONTEXT.power(_decimal(base), _decimal(exponent)))


def _decimal(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _near(number: Decimal | float) -> Value:
    found = Decimal(number)
    if not found.is_finite():
        raise OverflowError
    return Value(Fraction(found), exact=False)


def _root(given: Sequence[Value]) -> Value:
    number = given[0].number
    if number < 0:
        raise ValueError("the square root of a negative number is not real")
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if above * above == number.numerator and below * below == number.denominator:
        return Value(Fraction(above, below), given[0].exact)
    return _near(_CONTEXT.sqrt(_decimal(number)))


def _log(given: Sequence[Value]) -> Value:
    if any(one.number <= 0 for one in given):
        raise ValueError("a logarithm is only of positive numbers")
    natural = _CONTEXT.ln(_decimal(given[0].number))
    if len(given) == 1:
        return _near(natural)
    return _near(_CONTEXT.divide(natural, _CONTEXT.ln(_decimal(given[1].number))))


def _log_to(base: int) -> Callable[[Sequence[Value]], Value]:
    def work(given: Sequence[Value]) -> Value:
        number = given[0].number
        if number > 0:
            power = round(math.log(number.numerator, base) - math.log(number.denominator, base))
            if Fraction(base) ** power == number:
                return Value(Fraction(power), given[0].exact)
        return _log([given[0], Value(Fraction(base))])

    return work


def _rounded(given: Sequence[Value]) -> Value:
    places = given[1].number if len(given) == 2 else Fraction(0)
    if places.denominator != 1 or abs(places) > 1000:
        raise ValueError("the number of places must be a whole number up to 1,000")
    return Value(Fraction(round(given[0].number, int(places))), given[0].exact)


def _chosen(choose: Callable[[Sequence[Fraction]], Fraction]) -> Callable[[Sequence[Value]], Value]:
    def work(given: Sequence[Value]) -> Value:
        return Value(choose([one.number for one in given]), all(one.exact for one in given))

    return work


def _floating(function: Callable[..., float]) -> Callable[[Sequence[Value]], Value]:
    def work(given: Sequence[Value]) -> Value:
        return _near(function(*(float(one.number) for one in given)))

    return work


def _places(denominator: int) -> int | None:
    """Return how many decimals a fraction with this denominator has, None if they never end."""
    counts = []
    for factor in (2, 5):
        count = 0
        while denominator % factor == 0 and count <= _DIGITS:
            denominator //= factor
            count += 1
        counts.append(count)
    return max(counts) if denominator == 1 else None


_ANY = LONGEST
_FUNCTIONS: Mapping[str, tuple[int, int, Callable[[Sequence[Value]], Value]]] = {
    "abs": (1, 1, _chosen(lambda given: abs(given[0]))),
    "round": (1, 2, _rounded),
    "floor": (1, 1, _chosen(lambda given: Fraction(math.floor(given[0])))),
    "ceil": (1, 1, _chosen(lambda given: Fraction(math.ceil(given[0])))),
    "min": (1, _ANY, _chosen(min)),
    "max": (1, _ANY, _chosen(max)),
    "sqrt": (1, 1, _root),
    "exp": (1, 1, lambda given: _near(_CONTEXT.exp(_decimal(given[0].number)))),
    "ln": (1, 1, _log),
    "log": (1, 2, _log),
    "log2": (1, 1, _log_to(2)),
    "log10": (1, 1, _log_to(10)),
    "sin": (1, 1, _floating(math.sin)),
    "cos": (1, 1, _floating(math.cos)),
    "tan": (1, 1, _floating(math.tan)),
    "asin": (1, 1, _floating(math.asin)),
    "acos": (1, 1, _floating(math.acos)),
    "atan": (1, 1, _floating(math.atan)),
    "atan2": (2, 2, _floating(math.atan2)),
}
_CONSTANTS: Mapping[str, str] = {
    "pi": "3.14159265358979323846264338327950288419716939937510",
    "e": "2.71828182845904523536028747135266249775724709369996",
}
