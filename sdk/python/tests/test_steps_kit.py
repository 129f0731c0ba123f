"""Handlers with steps in both faces: operations that the kit takes, and those that it refuses."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from steps_faces import FACES, in_tasks, in_threads
from steps_handlers import Effects
from steps_stage import Crash, Raised, RunStage

from svc_client.steps import StepFailed, StepValueError, Stop

both = pytest.mark.parametrize("face", FACES, ids=["threads", "tasks"])


def ended(face: Any, handler: Any, **options: Any) -> tuple[RunStage, Any]:
    stage = RunStage(**options)
    return stage, stage.drive(face(handler))


@both
def test_a_thousand_steps_are_found_again(face: Any) -> None:
    works: list[int] = []

    async def run(ctx: Any, _: Any) -> Any:
        total = 0
        for number in range(1_000):
            total += await ctx.step("add", lambda its, number=number: works.append(number) or number)
        await ctx.sleep("nap", 60)
        return total

    stage, result = ended(face, run)
    assert result == sum(range(1_000))
    assert works == [*range(1_000)]
    assert stage.count("read") == len(stage.segments)
    for text in stage.segments[:-1]:
        assert 40_000 < len(text) <= 60_000


@both
def test_256_steps_side_by_side_share_writes(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        async def work(number: int) -> Any:
            return await ctx.step(["n", number], lambda its: number)

        return await ctx.map(list(range(256)), work, concurrency=256)

    stage, result = ended(face, run)
    assert result == [*range(256)]
    assert len(stage.entries) == 257
    # Threads end one after the other; those that end during a write share the next one.
    assert stage.count("write") <= (3 if face is in_tasks else 256)


@both
@pytest.mark.parametrize("size", [1_000_000, 1_048_574])
def test_a_large_value_has_a_checkpoint_of_its_own(face: Any, size: int) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        text = await ctx.step("big", lambda its: "x" * size)
        await ctx.sleep("nap", 1)
        return len(text)

    stage, result = ended(face, run)
    assert result == size
    assert stage.entries["big"]["ref"] == "svc.step.big"
    assert "svc.step.big" in stage.checkpoints


@both
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"at": {"moments": [1, {2}]}}, "The value at /at/moments/1 is a set"),
        ([1.5, float("nan")], "The value at /1 is nan"),
        ("x" * 1_048_575, "The value has 1048577 bytes"),
    ],
)
def test_a_value_that_json_would_change_ends_the_step(face: Any, value: Any, text: str) -> None:
    tries: list[int] = []

    async def run(ctx: Any, _: Any) -> Any:
        await ctx.step("value", lambda its: tries.append(1) or value)

    stage, error = ended(face, run)
    if isinstance(error, StepFailed):
        assert text in error.cause["message"]
        assert error.cause["name"] == "StepValueError"
    else:
        assert isinstance(error, StepValueError)
        assert text in str(error)
    assert tries == [1]
    assert stage.count("write svc.step.") == 0


@both
def test_a_result_that_json_would_change_stops_the_run(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        return {"a": (1, 2)}

    _, error = ended(face, run)
    assert isinstance(error, Stop)
    assert str(error) == (
        "The result cannot be kept: The value at /a is a tuple, which JSON would change. Give a plain dict or list."
    )


@both
def test_changed_code_goes_on(face: Any) -> None:
    works: list[str] = []

    def step(ctx: Any, name: str, **more: Any) -> Any:
        return ctx.step(name, lambda its: works.append(name) or name, **more)

    async def before(ctx: Any, _: Any) -> Any:
        await step(ctx, "charge")
        await step(ctx, "old")
        await ctx.sleep("nap", 60)

    async def changed(ctx: Any, _: Any) -> Any:
        await ctx.sleep("charge", 1)

    async def after(ctx: Any, _: Any) -> Any:
        new = await ctx.since("risk")
        await step(ctx, "first")
        paid = await step(ctx, "pay", was=["charge"])
        return [new, paid]

    stage = RunStage()
    handlers = [before, changed, changed, after]
    refusals: list[str] = []

    def run(stage: RunStage, port: Any) -> Any:
        try:
            return face(handlers[min(stage.attempt, 4) - 1])(stage, port)
        except Exception as error:
            refusals.append(str(error))
            return stage.drive(run)

    assert stage.drive(run) == [False, "charge"]
    assert refusals == 2 * ['"charge" was a step and is a sleep now']
    assert works == ["charge", "old", "first"]
    assert stage.records == [("steps.unused", {"steps": ["old"], "count": 1})]


@both
def test_a_later_format_ends_the_attempt_and_nothing_is_written(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        await ctx.step("a", lambda its: 1)

    stage = RunStage()
    head = {"k": "@", "t": "mark", "v": {"format": 2, "handler": "h", "version": "1"}}
    stage.checkpoints["svc.steps.0"] = text = json.dumps([head])
    stage.attempt = 1
    error = stage.drive(face(run))
    assert error.failure_class == "changed_code"
    assert stage.checkpoints == {"svc.steps.0": text}


@both
def test_a_run_begins_with_the_journal_that_its_start_gave(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        return [await ctx.step("a", lambda its: 1), await ctx.step("b", lambda its: 2)]

    head = {"k": "@", "t": "mark", "v": {"format": 1, "handler": "h", "version": "1"}}
    for with_lease in (True, False):
        stage = RunStage(with_lease=with_lease, first=not with_lease)
        stage.checkpoints["svc.steps.0"] = json.dumps([head, {"k": "a", "t": "step", "v": 40}])
        assert stage.drive(face(run)) == [40, 2]
        assert stage.count("read") == (0 if with_lease else 1)


@both
def test_a_fresh_run_reads_nothing_and_one_without_steps_writes_nothing(face: Any) -> None:
    async def run(ctx: Any, payload: Any) -> Any:
        return payload

    stage, result = ended(face, run, payload={"a": 1})
    assert (result, stage.calls) == ({"a": 1}, [])


@both
def test_the_first_branch_wins_in_each_execution(face: Any) -> None:
    effects: list[Any] = []

    async def run(ctx: Any, _: Any) -> Any:
        async def fast() -> Any:
            return await ctx.step("fast", lambda its: effects.append("fast") or "fast")

        async def slow() -> Any:
            await ctx.wait_for_event("never")

        won = await ctx.race(slow, fast)
        await ctx.sleep("nap", 60)
        return won

    stage, result = ended(face, run)
    assert (result, effects) == ("fast", ["fast"])
    assert stage.entries["@race"]["v"] == 1
    for call in range(1, len(stage.calls) + 1):
        for when in ("before", "after"):
            assert ended(face, run, crash=Crash(call, when))[1] == "fast"


@both
def test_names_that_could_be_exchanged_are_refused(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        async def branch(number: int) -> Any:
            await ctx.step(["first", number], lambda its: number)
            return await ctx.step("mail", lambda its: number)

        return await ctx.map([1, 2], branch)

    _, error = ended(face, run)
    assert error.failure_class == "ambiguous_name"
    assert '["mail", id]' in str(error)


@both
def test_the_work_of_a_step_calls_no_operation(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        async def outer(its: Any) -> Any:
            return await ctx.step("inner", lambda its: 1)

        await ctx.step("outer", outer, attempts=1)

    stage, error = ended(face, run)
    assert isinstance(error, StepFailed)
    assert error.cause["message"] == 'The work of the step "outer" must not call another operation.'
    assert "inner" not in stage.entries


@both
def test_undo_when_a_run_is_leased_to_undo(face: Any) -> None:
    undone: list[Any] = []

    def handler(effects: Effects) -> Any:
        async def run(ctx: Any, _: Any) -> Any:
            await ctx.step("flight", lambda its: "F", undo=lambda value: undone.append(value))
            await ctx.step("hotel", lambda its: "H", undo=lambda value, its: undone.append(value))
            await ctx.wait_for_event("car", timeout=60)
            await ctx.step("car", lambda its: "C")

        return run

    calls = 6
    for call in range(1, calls):
        undone.clear()
        stage = RunStage(cancel_at=call)
        error = stage.drive(face(handler(Effects(stage))))
        assert getattr(error, "reason", None) == "cancelled", (call, error)
        assert undone == (["F"] if call == 1 else ["H", "F"]), call
        ending = stage.entries["@ending"]["v"]
        assert ending == {"name": "Stop", "message": "The run was cancelled."}
        assert "car" not in stage.entries or "v" not in stage.entries["car"] or call > 3


def test_a_step_that_takes_too_long_is_left_alone() -> None:
    go, seen = threading.Event(), list[bool]()

    async def threads(ctx: Any, _: Any) -> Any:
        def work(its: Any) -> Any:
            its.cancellation.event.wait(60)
            seen.append(its.cancellation.cancelled)
            go.wait(60)

        await ctx.step("slow", work, attempts=1, timeout=0.01)

    _, error = ended(in_threads, threads)
    go.set()
    assert error.cause["name"] == "StepTimeout"
    assert '"slow" took longer than 0.01 s' in str(error)

    async def tasks(ctx: Any, _: Any) -> Any:
        async def work(its: Any) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                seen.append(its.cancellation.cancelled)

        await ctx.step("slow", work, attempts=1, timeout=0.01)

    _, error = ended(in_tasks, tasks)
    assert error.cause["name"] == "StepTimeout"
    assert seen == [True, True]


def test_operations_that_are_gathered_count_in_the_order_of_their_calls() -> None:
    async def run(ctx: Any, _: Any) -> Any:
        one, two = ctx.step("a", lambda its: 1), ctx.step("a", lambda its: 2)
        later = ctx.step("b", lambda its: 3)
        return [
            await later,
            await two,
            await one,
            *await asyncio.gather(ctx.sleep("c", 1), ctx.step("d", lambda: 4)),
        ]

    stage, result = ended(in_tasks, run)
    assert result == [3, 2, 1, None, 4]
    assert stage.entries["a"]["v"] == 1
    assert stage.entries["a#2"]["v"] == 2


def test_an_operation_whose_caller_is_cancelled_ends_its_work() -> None:
    ends: list[str] = []

    async def run(ctx: Any, _: Any) -> Any:
        async def work() -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                ends.append("cancelled")

        try:
            await asyncio.wait_for(ctx.step("slow", work), 0.01)
        except asyncio.TimeoutError:
            ends.append("late")
        return await ctx.step("next", lambda: 7)

    stage, result = ended(in_tasks, run)
    assert result == 7
    assert sorted(ends) == ["cancelled", "late"]
    assert "slow" not in stage.entries


@both
def test_an_event_of_the_past_and_arguments_that_are_refused(face: Any) -> None:
    async def run(ctx: Any, _: Any) -> Any:
        await ctx.sleep("nap", 10)
        refusals = [
            lambda: ctx.sleep("x", -1),
            lambda: ctx.step("x", lambda: 1, attempts=0),
            lambda: ctx.step("a#2", lambda: 1),
            lambda: ctx.wait_for_event("x", timeout="7d"),
            lambda: ctx.wait_for_event("x", names=[]),
            lambda: ctx.map([1], lambda item: item, concurrency=0),
            lambda: ctx.race(),
        ]
        for refused in refusals:
            with pytest.raises(TypeError):
                await refused()
        return [await ctx.wait_for_event("early"), len(refusals)]

    _, result = ended(face, run, events=[Raised(1, "early", 7)])
    assert result == [7, 7]
