"""Random values of Kafka's messages, by their layouts."""

import base64
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wire.kafka_layouts import NUMBERS, Field, Values

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(("x" * 127, "ä" * 100, "\0"))
BYTES = (st.binary(max_size=8) | st.just(bytes(range(256)))).map(lambda data: base64.b64encode(data).decode())
UUIDS = st.integers(0, 2**128 - 1).map(lambda number: base64.urlsafe_b64encode(uuid.UUID(int=number).bytes).decode().rstrip("="))
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "string": TEXTS,
    "bytes": BYTES,
    "records": BYTES,
    "uuid": UUIDS,
}
TAGS = st.dictionaries(st.integers(1_000, 2**31 - 2), st.binary(max_size=200), min_size=1, max_size=3)

# How many bytes of a message are replaced, by what (lengths and counts that are null, negative or huge, integers of more than 32 bits, and noise), and where:
# a number from which the places are chosen.
Damage = tuple[int, bytes, int]
_PIECES = [
    "80",
    "ff",
    "00",
    "01",
    "8000",
    "ffffffff",
    "7fffffff",
    "80000000",
    "8080808010",
    "ffffffff07",
    "ffffffff0f",
    "80" * 99,
    "ff" * 300,
]
DAMAGES: st.SearchStrategy[Damage] = st.tuples(
    st.sampled_from((1, 1, 0, 2, 4)), st.sampled_from(_PIECES).map(bytes.fromhex) | st.binary(max_size=6), st.integers(0, 999)
)
PLACES = 20


def damaged(message: bytes, damage: Damage) -> Iterator[bytes]:
    """The message with some of its bytes replaced, at one place after the other."""
    size, piece, chosen = damage
    for at in random.Random(chosen).sample(range(len(message) + 1), min(PLACES, len(message) + 1)):
        if (changed := message[:at] + piece + message[at + size :]) != message:
            yield changed


def check_each(examples: int, check: Callable[..., None], *strategies: st.SearchStrategy[Any]) -> None:
    """Call `check` so many times, with a random value of each strategy."""

    @settings(max_examples=examples)
    @given(st.tuples(*strategies))
    def with_values(values: tuple[Any, ...]) -> None:
        check(*values)

    with_values()


def drawn(fields: Sequence[Field]) -> st.SearchStrategy[Values]:
    """Values of all fields; tagged ones may be absent."""
    return st.fixed_dictionaries(
        {field.key: _value(field) for field in fields if field.tag is None},
        optional={field.key: _value(field) for field in fields if field.tag is not None},
    )


def _value(field: Field) -> st.SearchStrategy[Any]:
    strategy = drawn(field.fields) if field.fields else _simple(field.kind)
    if field.is_list:
        strategy = st.lists(strategy, max_size=3 if field.fields else 5)
    return st.none() | strategy if field.nullable else strategy


def _simple(kind: str) -> st.SearchStrategy[Any]:
    if kind not in NUMBERS:
        return OTHERS[kind]
    lowest, highest = NUMBERS[kind]
    return st.sampled_from((lowest, highest, 0, 1)) | st.integers(lowest, highest)
