"""Any Python value becomes bounded, redacted JSON, and nothing of it is touched."""

from __future__ import annotations

import array
import asyncio
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import io
import math
import pathlib
import re
import sys
import threading
import types
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbeat_protocol import canonical_json, read_json
from agentbeat_sdk.bounded import Snapshot, encoded, snapshot
from agentbeat_sdk.limits import RecordingLimits
from agentbeat_sdk.redaction import MARK, Redactor

SECRET = "hunter2-hunter2"
LIMITS = RecordingLimits()


def taken(value: object, **limits: int) -> Snapshot:
    """The snapshot, after a look at what holds for every one."""
    bounds = RecordingLimits(**limits)
    result = snapshot(value, limits=bounds, redactor=Redactor([SECRET]))
    raw = encoded(result.value).encode()
    assert read_json(raw) == result.value
    assert len(canonical_json(result.value)) <= bounds.max_value_bytes
    assert len(raw) <= bounds.max_value_bytes
    assert depth_of(result.value) <= bounds.max_value_depth
    assert SECRET not in raw.decode()
    return result


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def copied(value: object, **limits: int) -> Any:
    return taken(value, **limits).value


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Mode(enum.StrEnum):
    FAST = "fast"


class Deep(enum.Enum):
    BOX = {"a": [1]}  # noqa: RUF012


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Ticket:
    id: str
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    a: int
    b: int


class Customer(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str
    ticket: Ticket | None = None
    password: pydantic.SecretStr | None = None


class Names(pydantic.RootModel[list[str]]):
    pass


class Plain:
    pass


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __len__(self) -> int:
        return 10**9


class Upside(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


VALUES: dict[str, tuple[object, object]] = {
    "null": (None, None),
    "booleans": ([True, False], [True, False]),
    "integers": ([0, -5, 2**53 - 1, -(2**53) + 1], [0, -5, 2**53 - 1, -(2**53) + 1]),
    "integers that a double cannot keep": ([2**53, -(2**53)], ["9007199254740992", "-9007199254740992"]),
    "an integer beyond a double": (10**400, "1" + "0" * 400),
    "floats": ([0.5, 1e300, 5e-324], [0.5, 1e300, 5e-324]),
    "floats that JSON does not have": ([math.nan, math.inf, -math.inf], ["NaN", "Infinity", "-Infinity"]),
    "text": ("é😀\x00\x7f\u2028", "é😀\x00\x7f\u2028"),
    "lone surrogates": ("a\ud800", "a\ufffd"),
    "lone surrogates in a name": ({"a\udfff": 1}, {"a\ufffd": 1}),
    "tuple": ((1, (2,)), [1, [2]]),
    "named tuple": (Point(1, 2), {"x": 1, "y": 2}),
    "set": ({"b", "a", "c"}, ["a", "b", "c"]),
    "set of several types": (frozenset([1, "a", None]), ["a", 1, None]),
    "dict": ({"b": 1, "a": {"c": []}}, {"b": 1, "a": {"c": []}}),
    "other names": (
        {1: "a", 1.5: "b", None: "c", False: "d", Color.RED: "e", b"x": "f"},
        {"1": "a", "1.5": "b", "null": "c", "false": "d", "red": "e", "x": "f"},
    ),
    "names that read alike": ({1: "a", "1": "b", "1 (2)": "c"}, {"1": "a", "1 (2)": "b", "1 (2) (2)": "c"}),
    "tuple as a name": ({(1, "a"): 2}, {"(1, 'a')": 2}),
    "default dict": (collections.defaultdict(list, a=[1]), {"a": [1]}),
    "counter": (collections.Counter("aab"), {"a": 2, "b": 1}),
    "mapping proxy": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "chain map": (collections.ChainMap({"a": 1}, {"b": 2}), {"b": 2, "a": 1}),
    "deque": (collections.deque([1, 2]), [1, 2]),
    "array": (array.array("i", [1, 2]), [1, 2]),
    "views": ([{"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items()], [["a"], [1], [["a", 1]]]),
    "enum": ([Color.RED, Level.HIGH, Mode.FAST, Deep.BOX], ["red", 3, "fast", {"a": [1]}]),
    "dataclass": (Ticket("T-1", ["new"]), {"id": "T-1", "tags": ["new"]}),
    "slotted dataclass": (Slotted(1, 2), {"a": 1, "b": 2}),
    "pydantic model": (
        Customer.model_validate({"name": "Ada", "ticket": Ticket("T-1"), "more": 1}),
        {"name": "Ada", "ticket": {"id": "T-1", "tags": []}, "password": MARK, "more": 1},
    ),
    "root model": (Names(["a"]), ["a"]),
    "secret text": (pydantic.SecretStr("abc"), "SecretStr('**********')"),
    "date and time": (
        [dt.date(2026, 3, 1), dt.time(10, 30), dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)],
        ["2026-03-01", "10:30:00", "2026-03-01T10:00:00+00:00"],
    ),
    "duration": (dt.timedelta(days=1, seconds=1), "1 day, 0:00:01"),
    "decimal": ([decimal.Decimal("1.10"), decimal.Decimal("NaN")], ["1.10", "NaN"]),
    "fraction": (fractions.Fraction(1, 3), "1/3"),
    "uuid": (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    "path": (pathlib.PurePosixPath("/etc/passwd"), "/etc/passwd"),
    "bytes": ([b"abc", b"\xff\xfe", bytearray("é".encode())], ["abc", "\\xff\\xfe", "é"]),
    "exception": (ValueError("no", 5), {"type": "ValueError", "message": "('no', 5)"}),
    "complex": (1 + 2j, "(1+2j)"),
    "range": (range(3), "range(0, 3)"),
    "class and function": ([Plain, len], [f"<class '{__name__}.Plain'>", "<built-in function len>"]),
    "plain object": (Plain(), f"<{__name__}.Plain>"),
    "object whose repr holds an address": (
        functools.partial(len),
        "functools.partial(<built-in function len>)",
    ),
    "pattern": (re.compile("a+"), "re.compile('a+')"),
    "generator": ((i for i in range(3)), "<builtins.generator>"),
    "iterator": (iter([1, 2]), "<builtins.list_iterator>"),
    "text with its own length and str": (Text("abc"), "abc"),
    "dict with its own items": (Upside(a=1), {"a": 1}),
    "memory": (memoryview(b"abc"), "<memory>"),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_each_python_type_has_its_json(value: object, expected: Any) -> None:
    result = taken(value)
    assert result == Snapshot(expected, True)
    assert encoded(result.value) == encoded(expected), "members keep their order"


def test_the_largest_doubles_and_the_smallest_stay_within_the_bound() -> None:
    numbers = [
        -1.7976931348623157e308,
        -1.2345678901234567e-6,
        -1.2345678901234567e-300,
        1e20,
        -123456789012345680000.0,
    ]
    assert copied(numbers) == numbers


# -- objects that do not want to be read --------------------------------------------------------------------


def raises(*_: Any, **__: Any) -> Any:
    raise RuntimeError("do not touch")


def hostile(base: type = object, **methods: Any) -> Any:
    return type("Hostile", (base,), methods)()


class Loud:
    """Everything that can be looked at raises."""

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = raises
    __getitem__ = __contains__ = __int__ = __float__ = __index__ = raises
    __class__ = property(raises)
    __dict__ = property(raises)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Endless(Sequence[int]):
    """A sequence that never ends and lies about its length."""

    def __getitem__(self, index: Any) -> Any:
        return index

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1


class EndlessMapping(Mapping[int, int]):
    def __getitem__(self, key: int) -> int:
        if key % 2:
            raise KeyError(key)
        return key

    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Iterator[int]:
        return iter(Endless())


class Breaking(Endless):
    def __iter__(self) -> Iterator[int]:
        yield 1
        raise RuntimeError("broken off")


class Half(NamedTuple):
    a: int


@dataclasses.dataclass
class WithProperty:
    a: int
    b: int = 0

    def __post_init__(self) -> None:
        del self.b
        setattr(type(self), "b", property(raises))  # noqa: B010


class NumberLike:
    """As arrays of numbers do: it compares item by item, and has no single truth."""

    shape = (2,)
    __array_interface__ = property(raises)
    __len__ = __iter__ = __bool__ = __eq__ = __ne__ = raises

    def __hash__(self) -> int:
        raise TypeError("unhashable")

    def __repr__(self) -> str:
        return "array([1, 2])"

    def tolist(self) -> Any:
        raise RuntimeError("do not touch")


class OddMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


HOSTILE: dict[str, tuple[Callable[[], object], object]] = {
    "everything raises": (Loud, "… unreadable"),
    "repr raises": (lambda: hostile(__repr__=raises), "… unreadable"),
    "repr is no text": (lambda: hostile(__repr__=lambda self: 5), "… unreadable"),
    "repr raises something that is no Exception": (
        lambda: hostile(__repr__=lambda self: (_ for _ in ()).throw(asyncio.CancelledError())),
        "… unreadable",
    ),
    "repr recurses": (lambda: hostile(__repr__=lambda self: repr(self)), "… unreadable"),
    "class raises": (lambda: hostile(list, __class__=property(raises)), []),
    "class lies": (lambda: hostile(__class__=property(lambda self: dict)), f"<{__name__}.Hostile>"),
    "list that overrides iteration": (lambda: hostile(list, __iter__=raises, __len__=raises), []),
    "text of an exception": (lambda: hostile(ValueError, __str__=raises), "… unreadable"),
    "date without a text": (lambda: type("Day", (dt.date,), {"isoformat": raises})(1, 1, 1), "… unreadable"),
    "name without a text": (lambda: {hostile(__repr__=raises): 1}, {"… unreadable": 1}),
    "sequence that breaks off": (Breaking, [1, "… unreadable"]),
    "numbers": (NumberLike, "array([1, 2])"),
    "metaclass": (lambda: OddMeta("Odd", (), {})(), "… unreadable"),
    "huge integer": (lambda: 1 << 100_000_000, "… an integer of 100000001 bits"),
    "huge integer as a name": (lambda: {1 << 100_000: 1}, {"… 100001 bits": 1}),
    "huge decimal": (lambda: decimal.Decimal("1e999999"), "1E+999999"),
}


@pytest.mark.parametrize(("make", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_an_object_that_raises_becomes_a_mark_and_its_neighbours_stay(
    make: Callable[[], object], expected: object
) -> None:
    assert copied({"before": 1, "it": make(), "after": 2}) == {"before": 1, "it": expected, "after": 2}


def test_one_field_that_cannot_be_read_does_not_hide_the_others() -> None:
    result = taken(WithProperty(1))
    assert result == ({"a": 1, "b": "… unreadable"}, False)


def test_an_endless_sequence_or_mapping_is_read_up_to_the_bound() -> None:
    assert copied(Endless(), max_value_items=3) == [0, 1, 2, "… more"]
    assert copied(EndlessMapping(), max_value_items=3) == {"0": 0, "1": "… unreadable", "2": 2, "…": "… more"}
    assert not taken(Endless(), max_value_items=3).whole


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_not_swallowed(stop: type[BaseException]) -> None:
    def interrupted(self: object) -> str:
        raise stop

    for value in (
        hostile(__repr__=interrupted),
        [hostile(__repr__=interrupted)],
        {hostile(__repr__=interrupted): 1},
    ):
        with pytest.raises(stop):
            taken(value)


def test_iterators_and_files_are_not_consumed() -> None:
    generator = (i for i in range(3))
    file = io.StringIO("a\nb\n")
    mapped = map(str, [1, 2])

    async def coroutine() -> None: ...

    pending = coroutine()
    copied(
        {
            "generator": generator,
            "file": file,
            "mapped": mapped,
            "coroutine": pending,
            "zip": [zip([1], [2], strict=True)],
        }
    )
    pending.close()
    assert list(generator) == [0, 1, 2]
    assert file.read() == "a\nb\n"
    assert list(mapped) == ["1", "2"]


def test_no_property_runs() -> None:
    class Lazy(pydantic.BaseModel):
        a: int = 1

        @pydantic.computed_field  # type: ignore[prop-decorator]
        @property
        def rows(self) -> int:
            raise AssertionError("a query ran")

    assert copied(Lazy()) == {"a": 1}


def test_what_is_changed_later_is_not_seen() -> None:
    value: dict[str, Any] = {"tags": ["new"], "ticket": Ticket("T-1", ["a"])}
    before = copied(value)
    value["tags"].append("old")
    value["ticket"].tags.clear()
    assert before == {"tags": ["new"], "ticket": {"id": "T-1", "tags": ["a"]}}


def test_a_dict_that_another_thread_is_changing_is_read() -> None:
    shared: dict[int, int] = {}
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            shared[number % 500] = number
            shared.pop((number * 7) % 500, None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(50):
            assert taken(shared).whole
    finally:
        stop.set()
        thread.join()


# -- bounds -------------------------------------------------------------------------------------------------


def test_cycles_end_and_what_is_only_shared_is_written_twice() -> None:
    cycle: list[Any] = [1]
    cycle.append({"again": cycle})
    assert copied(cycle) == [1, {"again": "… cycle"}]
    shared = [1]
    assert copied([shared, shared]) == [[1], [1]]


def test_levels_beyond_the_bound_are_left_out() -> None:
    assert copied([[[[1]]], 2], max_value_depth=3) == [[["…"]], 2]
    assert copied({"a": [5]}, max_value_depth=1) == {"a": "…"}
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert depth_of(copied(deep)) == LIMITS.max_value_depth
    while deep:
        deep = deep.pop()  # else its end takes as many levels of the C stack


def test_members_beyond_the_bound_are_counted() -> None:
    assert copied(list(range(10)), max_value_items=4) == [0, 1, 2, 3, "… 6 more"]
    assert copied(dict.fromkeys("abcdef", 1), max_value_items=4) == {
        **dict.fromkeys("abcd", 1),
        "…": "… 2 more",
    }
    assert copied([[1, 2], [3, 4], 5], max_value_items=4) == [[1, 2], ["… 2 more"], "… 1 more"]
    assert copied([[1, 2], [3]], max_value_items=5) == [[1, 2], [3]]


def test_what_doubles_at_every_level_stays_bounded() -> None:
    value: Any = "x"
    for _ in range(30):
        value = [value, value]
    assert not taken(value).whole


def test_a_long_text_is_cut_and_a_long_name_too() -> None:
    assert taken({"a": "x" * 50}, max_text=20) == ({"a": "x" * 20 + "…"}, False)
    assert taken({"n" * 50: 1}, max_name=20) == ({"n" * 20 + "…": 1}, False)
    assert taken("😀" * 20, max_text=20) == ("😀" * 20, True)


@pytest.mark.parametrize("unit", ["x", "é", "😀", "\x00", '"', "\\"])
@pytest.mark.parametrize("size", range(64, 120, 7))
def test_bytes_are_bounded_whatever_the_characters(unit: str, size: int) -> None:
    for value in (
        unit * 1000,
        [unit] * 1000,
        {unit * 3: unit * 1000},
        [[[unit * 9]] * 9] * 9,
        {unit: [unit] * 90},
    ):
        assert not taken(value, max_value_bytes=size).whole


@pytest.mark.parametrize(
    "value",
    [
        {f"k{number}": number for number in range(999)},
        [-1.2345678901234567e-6] * 999,
        [True] * 999,
        [[number] for number in range(999)],
        {f"{number}": {} for number in range(999)},
        {"…": 1, **dict.fromkeys(map(str, range(200_000)), 1)},
    ],
    ids=["members", "doubles", "booleans", "arrays", "objects", "many members"],
)
def test_bytes_are_bounded_at_every_size(value: object) -> None:
    for size in range(64, 220):
        assert not taken(value, max_value_bytes=size).whole


@pytest.mark.parametrize(
    "value",
    [[{"id": number, "text": "x" * 100} for number in range(4_000)], [["x" * 50] for _ in range(5_000)]],
    ids=["objects", "arrays"],
)
def test_a_large_value_fills_its_bytes(value: object) -> None:
    result = taken(value)
    assert LIMITS.max_value_bytes * 0.98 < len(encoded(result.value).encode()) <= LIMITS.max_value_bytes


def test_it_works_with_little_stack_left() -> None:
    """Deep in a recursion a value may not be readable, but nothing is raised at a place of its own."""

    def at_depth(levels: int) -> Any:
        return (
            snapshot({"a": [1]}, limits=LIMITS, redactor=Redactor()) if levels == 0 else at_depth(levels - 1)
        )

    used = len(list(iter_frames()))
    assert at_depth(sys.getrecursionlimit() - used - 60).value == {"a": [1]}


def iter_frames() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


# -- secrets ------------------------------------------------------------------------------------------------


def test_values_under_secret_looking_names_are_redacted_at_any_depth() -> None:
    value = {
        "headers": [{"Authorization": "Basic x", "Accept": "*/*"}],
        "login": Login("ada", "hunter2"),
        "pair": Pair("x", "y"),
        "config": {"db": {"password": {"nested": "p"}, "api_keys": ["k"], "max_tokens": 5}},
        "token": None,
    }
    assert copied(value) == {
        "headers": [{"Authorization": MARK, "Accept": "*/*"}],
        "login": {"user": "ada", "password": MARK},
        "pair": {"name": "x", "secret": MARK},
        "config": {"db": {"password": MARK, "api_keys": MARK, "max_tokens": 5}},
        "token": MARK,
    }


@dataclasses.dataclass
class Login:
    user: str
    password: str


class Kind(enum.Enum):
    A = SECRET


class Pair(NamedTuple):
    name: str
    secret: str


SPOTS: list[object] = [
    SECRET,
    f"before {SECRET} after",
    {SECRET: 1},
    {f"x-{SECRET}": {"a": SECRET}},
    {(SECRET, 1): 1},
    SECRET.encode(),
    ValueError(SECRET),
    pathlib.PurePath("/x", SECRET),
    {SECRET},
    Ticket(SECRET),
    Text(SECRET),
    Kind.A,
    functools.partial(len, SECRET),
    collections.UserString(SECRET),
    "x" * 32_760 + SECRET,
]


@pytest.mark.parametrize("value", SPOTS, ids=lambda value: type(value).__name__)
def test_the_targets_secret_is_nowhere(value: object) -> None:
    assert "hunter2" not in encoded(copied([value]))


def test_names_that_hold_secrets_do_not_collide() -> None:
    assert copied({SECRET: 1, SECRET + SECRET: 2, MARK: 3}) == {
        MARK: 1,
        f"{MARK}{MARK}": 2,
        f"{MARK} (2)": 3,
    }


def test_a_number_that_spells_the_secret_is_redacted() -> None:
    result = snapshot([31415926, -314159265.5, 27], limits=LIMITS, redactor=Redactor(["31415926"]))
    assert result.value == [MARK, f"-{MARK}5.5", 27]


# -- all values ---------------------------------------------------------------------------------------------

any_text = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    [SECRET, "sk-abcdef", "password"]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**1100), 2**1100)
    | st.floats()
    | any_text
    | st.binary(max_size=8)
    | st.decimals()
    | st.datetimes()
    | st.fractions()
    | st.complex_numbers()
    | st.uuids()
    | st.builds(Loud)
    | st.builds(Endless)
    | st.builds(EndlessMapping)
    | st.builds(Plain)
)
hashables = st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary(max_size=8)
any_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(hashables, inner, max_size=5)
        | st.sets(hashables, max_size=5)
        | st.builds(Ticket, any_text, st.lists(any_text, max_size=3))
        | inner.map(ValueError)
    ),
    max_leaves=25,
)


@settings(max_examples=200)
@given(any_values, st.integers(64, 400), st.integers(1, 6), st.integers(1, 20), st.integers(16, 60))
def test_every_value_is_within_every_bound(
    value: object, size: int, depth: int, items: int, text: int
) -> None:
    taken(
        value, max_value_bytes=size, max_value_depth=depth, max_value_items=items, max_text=text, max_name=16
    )


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("abc é😀", max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
        ),
    )
)
def test_plain_json_stays_as_it_is(value: object) -> None:
    assert taken(value) == (value, True)
