"""The dataclasses of North behave as those of the standard library, and are made when they are used."""

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

import north_lsp
from north_lsp.lazy_dataclass import _FEW, dataclass

_OPTIONS: list[dict[str, bool]] = [
    {"frozen": frozen, "slots": slots} for frozen in (False, True) for slots in (False, True)
]
Declare = Callable[..., Any]


def _declared(declare: Declare, options: dict[str, bool]) -> Any:
    class Point:
        x: int
        y: "list[int]" = field(default_factory=list)
        label: str = "here"
        secret: str = field(default="", repr=False)
        note: str = field(default="", compare=False)
        size: int = field(default=7, init=False)
        log: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    return declare(**options)(Point)


_CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, [2]), {"label": "there"}),
    ((), {"x": 3, "note": "n", "secret": "s"}),
    ((1, [2], "a", "b", "c"), {}),
]


@pytest.mark.parametrize("options", _OPTIONS)
def test_instances_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = _declared(dataclass, options), _declared(dataclasses.dataclass, options)
    for args, kwargs in _CASES:
        mine, other = ours(*args, **kwargs), theirs(*args, **kwargs)
        assert repr(mine) == repr(other)
        assert dataclasses.asdict(mine) == dataclasses.asdict(other)
        assert mine == ours(*args, **kwargs)
        assert mine != other
        assert copy.deepcopy(mine) == mine
        assert dataclasses.replace(mine, x=9) == ours(9, *args[1:], **{k: v for k, v in kwargs.items() if k != "x"})
        assert hasattr(mine, "__dict__") is hasattr(other, "__dict__")
    for one, another in (((1,), (2,)), ((1, [1]), (1, [2])), ((1, [], "a"), (1, [], "b"))):
        assert ours(*one) != ours(*another)
    assert ours(1, note="a") == ours(1, note="b")
    assert ours.__match_args__ == theirs.__match_args__
    assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(theirs)]


@pytest.mark.parametrize("options", _OPTIONS)
def test_each_instance_gets_its_own_default(options: dict[str, bool]) -> None:
    made = _declared(dataclass, options)
    assert made(1).y is not made(1).y
    assert made(1).log is not made(1).log


@pytest.mark.parametrize("options", _OPTIONS)
def test_wrong_arguments_are_refused_in_the_same_words(options: dict[str, bool]) -> None:
    ours, theirs = _declared(dataclass, options), _declared(dataclasses.dataclass, options)
    for args, kwargs in (((), {}), ((1, 2, 3, 4, 5, 6), {}), ((1,), {"z": 1}), ((1,), {"x": 1}), ((1,), {"size": 1})):
        said = []
        for made in (ours, theirs):
            with pytest.raises(TypeError) as error:
                made(*args, **kwargs)
            said.append(str(error.value))
        assert said[0] == said[1]


@dataclass(frozen=True, slots=True)
class _Pair:
    left: int
    right: str = field(default="", hash=False)


@dataclass(frozen=True)
class _Plain:
    left: int


@dataclass(frozen=True, slots=True)
class _Triple(_Pair):
    more: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Nothing:
    pass


@dataclass
class _Changing:
    left: int
    seen: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.seen = [self.left]


@dataclass(eq=False)
class _Itself:
    left: int


@dataclass(frozen=True)
class _Own:
    left: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 5

    def __repr__(self) -> str:
        return "own"


class _Derived(_Plain):
    def __init__(self) -> None:
        super().__init__(4)


@pytest.mark.parametrize("made", [_Pair(1), _Plain(1), _Triple(1)])
def test_what_is_frozen_cannot_be_changed(made: Any) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        made.left = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del made.left
    with pytest.raises(FrozenInstanceError):
        made.other = 2
    assert made.left == 1


def test_what_is_frozen_has_a_hash_and_what_changes_has_none() -> None:
    assert hash(_Pair(1, "a")) == hash(_Pair(1, "b")) != hash(_Pair(2, "a"))
    assert len({_Plain(1), _Plain(1), _Nothing(), _Nothing()}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(_Changing(1))
    assert _Itself(1) != _Itself(1)
    assert hash(_Itself(1))


def test_classes_build_on_each_other() -> None:
    assert _Triple(1, more=(2,)) == _Triple(1, "", (2,)) != _Triple(1)
    assert _Pair(1) != _Triple(1)
    assert _Derived().left == 4
    assert _Plain(3).left == 3
    assert repr(_Triple(1)) == "_Triple(left=1, right='', more=())"


def test_what_a_class_has_of_its_own_stays() -> None:
    assert (_Own(1), hash(_Own(1)), repr(_Own(1))) == (_Own(2), 5, "own")
    assert _Changing(3).seen == [3]


@pytest.mark.parametrize("made", [_Pair(1, "a"), _Plain(1), _Triple(1, more=(2,)), _Changing(1)])
def test_an_instance_can_be_sent_to_another_process(made: object) -> None:
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.copy(made) == made


def test_a_pattern_finds_its_fields() -> None:
    match _Pair(1, "a"):
        case _Pair(left, right):
            assert (left, right) == (1, "a")


@pytest.mark.parametrize("options", _OPTIONS)
def test_the_constructor_is_compiled_when_there_are_several_instances(options: dict[str, bool]) -> None:
    made = _declared(dataclass, options)
    declared = made.__init__
    few = [made(1, [2], note="n") for _ in range(_FEW)]
    assert made.__init__ is declared
    more = made(1, [2], note="n")
    assert made.__init__ is not declared
    assert made.__init__.__qualname__ == f"{made.__qualname__}.__init__"
    assert {*map(repr, few)} == {repr(more)}
    assert all(one == more for one in few)


@dataclass
class _Shared:
    kind: ClassVar[str] = "shared"
    quoted: "ClassVar[int]" = 3
    left: int = 1


@dataclass(slots=True)
class _MoreShared(_Shared):
    right: int = 2


@pytest.mark.parametrize("is_read", [False, True])
def test_what_is_of_the_class_is_no_field(is_read: bool) -> None:
    if is_read:
        assert [one.name for one in dataclasses.fields(_Shared)] == ["left"]
    assert repr(_MoreShared(4, 5)) == "_MoreShared(left=4, right=5)"
    assert (_MoreShared.kind, _MoreShared().quoted) == ("shared", 3)


def test_an_instance_is_set_as_its_class_wants() -> None:
    seen = []

    @dataclass
    class Watched:
        left: int
        right: int = 2

        def __setattr__(self, name: str, value: object) -> None:
            seen.append(name)
            super().__setattr__(name, value)

    Watched(1)
    assert seen == ["left", "right"]


def test_north_declares_its_dataclasses_so() -> None:
    package = Path(north_lsp.__file__).parent
    found = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ("rpc", "lazy_dataclass.py") and "sample" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(one.name == "dataclass" for one in node.names)
    ]
    assert found == [], "north_lsp.lazy_dataclass has a dataclass that is quicker to import"
