"""The rules of the journal, on the examples that every kit tests."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from step_vectors import STARTS_AT, VECTORS, titled

from svc_client.steps._entries import Entry, entry_error
from svc_client.steps._faults import AmbiguousName, ChangedCode, StepFailed, StepValueError, Stop
from svc_client.steps._journal import Head, Journal, may_continue
from svc_client.steps._names import Caller, CallerBranch, Occurrences, OpenOperations, name_of
from svc_client.steps._retries import retry_after, retry_rule
from svc_client.steps._values import bytes_of, from_wire, json_copy, number_text, text_of, value_bytes

HEAD = Head("h", "1")


def key_of(names: Occurrences, name: str, caller: Caller) -> str:
    try:
        return names.next(name, caller)
    except AmbiguousName:
        return "ambiguous"


@pytest.mark.parametrize("case", VECTORS["names"], ids=lambda case: case["name"][:20])
def test_a_name_has_its_text(case: Any) -> None:
    assert name_of(case["given"]) == case["name"]


@pytest.mark.parametrize("given", [*VECTORS["refusedNames"], "a\ud800", ["a", True], ["a", 2**53], 7, None])
def test_a_name_is_refused(given: Any) -> None:
    with pytest.raises(TypeError):
        Occurrences().next(name_of(given), Caller([], OpenOperations()))


@pytest.mark.parametrize("case", **titled(VECTORS["occurrences"]))
def test_calls_of_a_name_are_counted(case: Any) -> None:
    names, open_operations, seen = Occurrences(), OpenOperations(), []
    for action in case["do"]:
        if action == "begin":
            open_operations.begun()
        elif action == "end":
            open_operations.ended()
        else:
            seen.append(key_of(names, action.removeprefix("call "), Caller([], open_operations)))
    assert seen == case["keys"]


@pytest.mark.parametrize("case", **titled(VECTORS["branches"]))
def test_calls_of_a_name_are_counted_over_branches(case: Any) -> None:
    names, groups, seen = Occurrences(), dict[str, object](), []
    for call in case["calls"]:
        chain = [
            CallerBranch(groups.setdefault(group, object()), index, is_prompt)
            for group, index, is_prompt in call["branch"]
        ]
        seen.append(key_of(names, call["name"], Caller(chain, OpenOperations())))
    assert seen == case["keys"]


@pytest.mark.parametrize("case", VECTORS["texts"])
def test_a_value_has_the_text_that_ecmascript_writes(case: Any) -> None:
    assert text_of(json_copy(from_wire(case["value"]))) == case["text"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1.2e-7, "1.2e-7"),
        (5e-324, "5e-324"),
        (123.456, "123.456"),
        (-1e-6, "-0.000001"),
        (9007199254740993.0, "9007199254740992"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_a_number_has_the_text_that_ecmascript_writes(number: float, text: str) -> None:
    assert number_text(number) == text


def test_the_text_of_a_number_is_that_number() -> None:
    chance = random.Random(7)
    for _ in range(2_000):
        number = chance.choice([1, -1]) * chance.random() * 10 ** chance.randint(-310, 308)
        assert float(number_text(number)) == number


def entry_of(put: Any) -> Entry:
    if "eventFill" in put:
        return {"k": put["k"], "t": "event", "v": {"payload": "x" * put["eventFill"]}, "at": STARTS_AT}
    return {"k": put["k"], "t": "step", "v": "x" * put.get("fill", 0), "ms": 0, "at": STARTS_AT}


@pytest.mark.parametrize("case", **titled(VECTORS["placements"]["cases"]))
def test_an_entry_is_placed(case: Any) -> None:
    journal = Journal.of([], HEAD)
    for put in case["puts"]:
        journal.put(entry_of(put))
    texts = [text_of(write.content) for write in journal.changes()]
    contents = [json.loads(text) for text in texts]
    found = [
        {"keys": [entry["k"] for entry in content], "bytes": len(text.encode())}
        for content, text in zip(contents, texts, strict=True)
    ]
    assert found == case["segments"]
    read = Journal.of(contents, HEAD)
    for put in case["puts"]:
        kind = entry_of(put)["t"]
        assert read.find(put["k"], kind) == journal.find(put["k"], kind)
    assert not may_continue(contents[-1], len(contents) - 1) or case["segments"][-1]["bytes"] > 40_000


@pytest.mark.parametrize("case", **titled(VECTORS["refusedJournals"]))
def test_a_journal_is_refused(case: Any) -> None:
    with pytest.raises(ChangedCode) as raised:
        Journal.of([json.loads(text) for text in case["segments"]], HEAD)
    assert raised.value.failure_class == "changed_code"


def test_a_changed_kind_is_said() -> None:
    journal = Journal.of([], HEAD)
    journal.put({"k": "a", "t": "step", "v": 1})
    with pytest.raises(ChangedCode, match='"a" was a step and is a sleep now'):
        journal.find("a", "sleep")


def test_members_of_a_later_kit_stay_and_come_last() -> None:
    head = {"k": "@", "t": "mark", "v": {"format": 1, "handler": "h", "version": "1"}}
    journal = Journal.of([[head, {"later": 1, "k": "a", "t": "step", "v": 2}]], HEAD)
    journal.put({"z": 7, "at": 5, "k": "b", "t": "step", "v": 3})
    [write] = journal.changes()
    assert text_of(write.content[2]) == '{"k":"b","t":"step","v":3,"at":5,"z":7}'
    assert write.content[1]["later"] == 1


def test_a_full_journal_stops_the_run_and_keeps_room_to_undo() -> None:
    journal = Journal.of([], HEAD)
    for number in range(9_999):
        journal.put({"k": f"s{number}", "t": "step", "v": None})
    with pytest.raises(Stop, match="child runs"):
        journal.put({"k": "one more", "t": "step", "v": None})
    journal.put({"k": "@ending", "t": "mark", "v": None})
    journal.put({"k": "@undo:s1", "t": "undo", "v": None})
    large = Journal.of([], HEAD)
    for number in range(47):
        large.put({"k": f"s{number}", "t": "step", "v": "x" * 15_900})
    large.put({"k": "last", "t": "step", "v": "x" * 14_000})
    with pytest.raises(Stop, match="16 segments"):
        large.put({"k": "one more", "t": "step", "v": "x" * 15_900})
    assert [write.number for write in large.changes()] == [*range(16)]


class Point:
    pass


CYCLE: list[object] = []
CYCLE.append([CYCLE])
DEEP: Any = 0
for _ in range(201):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (math.nan, ""),
        ([1, math.inf], "/1"),
        ({"a": {"b/c": 2**53}}, "/a/b~1c"),
        ({"a": [{1, 2}]}, "/a/0"),
        ({"~": (1, 2)}, "/~0"),
        ({"a": {1: 2}}, "/a"),
        (["a", "\ud800"], "/1"),
        ([b"x"], "/0"),
        ({"p": Point()}, "/p"),
        (CYCLE, "/0/0"),
    ],
)
def test_a_value_that_json_would_change_is_refused_with_its_place(value: Any, pointer: str) -> None:
    with pytest.raises(StepValueError) as raised:
        json_copy(value)
    assert raised.value.pointer == pointer


def test_too_deep_and_too_large_values_are_refused() -> None:
    with pytest.raises(StepValueError, match="200 levels"):
        json_copy(DEEP)
    assert json_copy(DEEP[0]) == DEEP[0]
    assert value_bytes("x" * 1_048_574) == 1_048_576
    with pytest.raises(StepValueError, match="artifact"):
        value_bytes("x" * 1_048_575)


def test_a_copy_shares_nothing_and_has_one_kind_of_number() -> None:
    inner = [1.0, -0.0, 1.5]
    copy = json_copy({"a": inner})
    inner.append(7)
    assert copy == {"a": [1, 0, 1.5]}
    assert [type(each) for each in copy["a"]] == [int, int, float]


def test_an_error_is_cut_in_utf_16_units() -> None:
    kept = entry_error(ValueError("x" * 999 + "😀"))
    assert kept == {"name": "ValueError", "message": "x" * 999}
    assert entry_error(ValueError("a\ud800")) == {"name": "ValueError", "message": "a\ufffd"}
    failed = StepFailed("pay", {"name": "ValueError", "message": "a secret"})
    assert str(failed) == '"pay" failed'
    assert str(StepFailed("pay", {"name": "Stop", "message": "no car"})) == '"pay" failed: no car'


def test_delays_grow_to_their_limit_and_long_ones_park_the_run() -> None:
    rule = retry_rule(5, 3, 2, 10)
    delays = [retry_after(rule, tries) for tries in range(1, 6)]
    assert delays == [(False, 3_000), (True, 6_000), (True, 10_000), (True, 10_000), None]
    assert retry_after(retry_rule(1_000, 1, 100, 3_600), 900) == (True, 3_600_000)
    assert bytes_of("é😀") == 6
