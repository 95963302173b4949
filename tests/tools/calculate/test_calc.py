"""`calc` is exact, bounded, and says where an expression is wrong."""

import pytest

from north_lsp.errors import ToolError
from north_lsp.tools.calculate.expression import evaluate
from tests.tools.conftest import Desk


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("0.1 + 0.2", "0.3"), ("-2 ** 2", "-4"), ("2 ** 3 ** 2", "512"),
        ("2 ^ -2", "0.25"), ("10 / 4", "2.5"), ("7 // 2", "3"), ("-7 % 3", "2"), ("--3", "3"), ("1_000 * .5", "500"),
        ("0xff + 0b11 + 0o17", "273"), ("1e3 + 1.5E-2", "1000.015"), ("abs(-1/8)", "0.125"),
        ("round(2.675, 2)", "2.68"),
        ("round(12345, -2)", "12300"), ("min(3, 1, 2) + max(1, 2)", "3"), ("sqrt(9/16)", "0.75"), ("log2(1024)", "10"),
        ("log10(1/1000)", "-3"), ("floor(-1.5) + ceil(1.2)", "0"), ("2**100", "1267650600228229401496703205376"),
        ("1/3*3", "1"), ("-1/1000", "-0.001"), ("1/3", "0." + "3" * 50),
    ],
)  # fmt: skip
def test_exact(text: str, shown: str) -> None:
    value = evaluate(text)
    assert (value.shown(), value.exact) == (shown, True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sqrt(2)", "1.4142135623731"), ("sin(0) + 1/3", "0.333333333333333"), ("2 ** 0.5", "1.4142135623731"),
        ("2 ** (1/3)", "1.25992104989487"), ("ln(e)", "1"), ("log(8, 2)", "3"), ("exp(1)", "2.71828182845905"),
        ("atan2(1, 1) * 4", "3.14159265358979"),
    ],
)  # fmt: skip
def test_near(text: str, shown: str) -> None:
    value = evaluate(text)
    assert not value.exact
    assert value.shown().startswith(shown)


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("1 + ", 5, "ends too early"), ("1 + * 2", 5, "unexpected '*'"), ("(1 + 2", 7, "expected ')'"),
        ("1 2", 3, "unexpected '2'"), ("2 $ 3", 3, "unexpected '$'"), ("1 / (2 - 2)", 3, "division by zero"),
        ("5 % 0", 3, "division by zero"), ("foo(1)", 1, "there is no 'foo'"), ("sqrt(-1)", 1, "not real"),
        ("sqrt()", 6, "unexpected ')'"), ("atan2(1)", 1, "takes 2 values, not 1"), ("ln(0)", 1, "positive"),
        ("0x", 2, "unexpected 'x'"), ("9 ** 99999999", 3, "digits"), ("1e99999", 1, "exponent"),
        ("(-8) ** (1/3)", 6, "not real"), ("((2**4000)**2)**2", 15, "digits"), ("exp(99999)", 1, "represented"),
        ("__import__('os')", 1, "unexpected '_'"), ("asin(2)", 1, ""), ("sin(10**400)", 1, "represented"),
    ],
)  # fmt: skip
def test_errors_name_the_position(text: str, position: int, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        evaluate(text)
    assert caught.value.details == {"position": position}
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(" * 499 + "1" + ")" * 499, "nested"),
        ("2**" * 300 + "1", "nested"),
        ("9**9**9**9", "digits"),
        ("1" * 1001, ""),
    ],
)
def test_what_would_take_long_is_refused_before_it_is_worked_out(text: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        evaluate(text)
    assert said in caught.value.message


async def test_the_tool(desk: Desk) -> None:
    assert await desk.call("calc", expression="1/3 + 1/6") == {"value": "0.5", "exact": True, "fraction": "1/2"}
    assert (await desk.error("calc", expression="1 +")).details == {"position": 4}
