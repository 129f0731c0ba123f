"""Twelve handlers, as newcomers write them, with the effects that each must have once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from steps_stage import Options, Raised, RunStage

from svc_client.steps import StepFailed, Stop
from svc_client.steps._port import ChildOutcome

MINUTE = 60_000


@dataclass(frozen=True)
class Child:
    id: str


class Effects:
    """A payment service and others, which take idempotency keys."""

    def __init__(self, stage: RunStage) -> None:
        self.stage = stage
        self.by_key: dict[str, Any] = {}
        self.works = 0
        self._lock = threading.Lock()

    def do(self, its: Any, value: Any = None) -> Any:
        self.stage.work(1)
        try:
            with self._lock:
                self.works += 1
                return self.by_key.setdefault(its.idempotency_key, value)
        finally:
            self.stage.work(-1)


@dataclass
class Case:
    title: str
    handler: Callable[[Effects], Callable[[Any, Any], Any]]
    ends: Any
    """The result, or the text of the failure."""
    keys: list[str]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def stage(self, **more: Any) -> RunStage:
        return RunStage(Options(**{**self.options, **more}))


def refund(effects: Effects) -> Any:
    async def run(ctx: Any, order: Any) -> Any:
        charge = await ctx.step("charge", lambda its: effects.do(its, {"id": "ch_1"}))
        approval = await ctx.wait_for_event("approval", timeout=timedelta(days=7))
        if approval is None:
            raise Stop("not approved")
        await ctx.sleep("cool", 3_600)
        shipped = await ctx.step("ship", lambda its: effects.do(its, "L-7"))
        return {"charge": charge["id"], "by": approval["by"], "shipped": shipped, "order": order}

    return run


def unapproved(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        await ctx.step("charge", lambda its: effects.do(its), undo=lambda _, its: effects.do(its))
        if await ctx.wait_for_event("approval", timeout=60) is None:
            raise Stop("not approved")

    return run


def side_by_side(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        async def one() -> Any:
            return await ctx.step("a", lambda its: effects.do(its, 1))

        async def two() -> Any:
            await ctx.step("b", lambda its: effects.do(its, 2))
            return await ctx.step(["b", 2], lambda its: effects.do(its, 3))

        return list(await ctx.all(one, two))

    return run


def two_waits(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        async def approved() -> Any:
            seen = await ctx.wait_for_event("approval")
            return await ctx.step("note", lambda its: effects.do(its, seen))

        async def slept() -> Any:
            await ctx.sleep("nap", 30)
            return await ctx.step("woke", lambda its: effects.do(its, "up"))

        return list(await ctx.all(approved, slept))

    return run


def two_events(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        async def one() -> Any:
            return await ctx.wait_for_event("x", timeout=600)

        async def two() -> Any:
            first = await ctx.wait_for_event("y")
            await ctx.step("seen", lambda its: effects.do(its))
            return [first, await ctx.wait_for_event("y")]

        return list(await ctx.all(one, two))

    return run


def mapped(effects: Effects) -> Any:
    async def run(ctx: Any, items: Any) -> Any:
        async def work(item: Any) -> Any:
            await ctx.step(["one", item], lambda its: effects.do(its))
            return await ctx.step(["two", item], lambda its: effects.do(its, item * 2))

        return await ctx.map(items, work, concurrency=2)

    return run


def flaky(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        def work(its: Any) -> Any:
            if its.attempt < 4:
                raise ValueError(f"try {its.attempt}")
            return effects.do(its, its.attempt)

        return await ctx.step("flaky", work, attempts=5, delay=2)

    return run


def saga(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        for name in ("flight", "hotel"):
            await ctx.step(name, lambda its: effects.do(its), undo=lambda _, its: effects.do(its))
        await ctx.sleep("think", 60)

        def none(_: Any) -> Any:
            raise Stop("no car")

        await ctx.step("car", none)

    return run


def child(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        later = await ctx.start("later", Child("mail"), {"to": "kim"})
        label = await ctx.invoke("ship", Child("ship"), {"order": "7"})
        failed = ""
        try:
            await ctx.invoke("pack", Child("pack"), None)
        except StepFailed as error:
            failed = str(error)
        await ctx.step("note", lambda its: effects.do(its))
        return [later, label, failed]

    return run


def child_and_event(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        async def shipped() -> Any:
            return await ctx.invoke("ship", Child("ship"), None)

        async def approved() -> Any:
            seen = await ctx.wait_for_event("any", names=["approved", "declined"])
            await ctx.step("note", lambda its: effects.do(its))
            return [seen.name, seen.payload]

        return list(await ctx.all(shipped, approved))

    return run


def marks(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        seen = [await ctx.now(), await ctx.uuid(), await ctx.random(), await ctx.since("new")]
        await ctx.commit("book", "acme", {"mutations": []})
        await ctx.sleep("nap", 10)
        again = [await ctx.step("again", lambda its: effects.do(its, seen))]
        return again == [seen]

    return run


def large(effects: Effects) -> Any:
    async def run(ctx: Any, _: Any) -> Any:
        sizes = []
        for number in range(5):
            text = await ctx.step("part", lambda its: effects.do(its, "x" * 15_900))
            sizes.append(len(text) + number)
        big = await ctx.step("big", lambda its: effects.do(its, "y" * 100_000))
        seen = await ctx.wait_for_event("upload")
        with contextlib.suppress(StepFailed):
            await ctx.step("broken", lambda its: 1 / 0, attempts=1)
        return [sizes, len(big), len(seen)]

    return run


CASES = [
    Case(
        "a charge, an approval, an hour",
        refund,
        {"charge": "ch_1", "by": "kim", "shipped": "L-7", "order": "o"},
        ["7/charge", "7/ship"],
        {"payload": "o", "events": [Raised(MINUTE, "approval", {"by": "kim"})]},
    ),
    Case("an approval that does not come", unapproved, "not approved", ["7/@undo:charge", "7/charge"]),
    Case("steps side by side", side_by_side, [1, 3], ["7/a", "7/b", "7/b/2"]),
    Case(
        "an event and a timer side by side",
        two_waits,
        [{"ok": 1}, "up"],
        ["7/note", "7/woke"],
        {"events": [Raised(45_000, "approval", {"ok": 1})]},
    ),
    Case(
        "two events side by side",
        two_events,
        [1, [2, 3]],
        ["7/seen"],
        {"events": [Raised(5_000, "y", 2), Raised(6_000, "x", 1), Raised(9_000, "y", 3)]},
    ),
    Case(
        "a branch for each item",
        mapped,
        [2, 4, 6],
        [f"7/{name}/{item}" for name in ("one", "two") for item in (1, 2, 3)],
        {"payload": [1, 2, 3]},
    ),
    Case("a step that fails thrice", flaky, 4, ["7/flaky"]),
    Case(
        "a booking that is undone",
        saga,
        '"car" failed: no car',
        ["7/@undo:flight", "7/@undo:hotel", "7/flight", "7/hotel"],
    ),
    Case(
        "child runs",
        child,
        ["11", {"label": "L"}, '"pack" failed: pack ended as failed: no box'],
        ["7/note"],
        {
            "children": {
                "mail": (0, ChildOutcome("succeeded")),
                "ship": (7_200_000, ChildOutcome("succeeded", {"label": "L"})),
                "pack": (10, ChildOutcome("failed", None, "validation", "no box")),
            }
        },
    ),
    Case(
        "a child and one of two events",
        child_and_event,
        ["S", ["declined", 7]],
        ["7/note"],
        {
            "children": {"ship": (90_000, ChildOutcome("succeeded", "S"))},
            "events": [Raised(3_000, "declined", 7)],
        },
    ),
    Case("marks and a commit", marks, True, ["7/again"]),
    Case(
        "values that fill segments",
        large,
        [[15_900, 15_901, 15_902, 15_903, 15_904], 100_000, 50_000],
        ["7/big", *[f"7/part{number}" for number in ("", "#2", "#3", "#4", "#5")]],
        {"events": [Raised(1_000, "upload", "z" * 50_000)]},
    ),
]
