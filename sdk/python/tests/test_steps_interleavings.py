"""Two branches in any order, with a crash at any call: no event is lost or taken twice, each effect is there once. And
flaws that are planted in the rules are found."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from steps_faces import in_tasks, in_threads
from steps_handlers import CASES, Effects
from steps_stage import Crash, Port, Raised, RunStage
from test_steps_crashes import check

from svc_client.steps import _execution, _run, _scheduler, _writer
from svc_client.steps import _operations as operations
from svc_client.steps._branches import Branch, Place, place
from svc_client.steps._execution import Execution
from svc_client.steps._flow import Call, Flow, Promise, Work
from svc_client.steps._journal import Head, Journal, SegmentWrite
from svc_client.steps._names import Occurrences
from svc_client.steps._retries import retry_rule
from svc_client.steps._scheduler import Scheduler
from svc_client.steps._steps import StepRules, step_result
from svc_client.steps._threads import bound


@dataclass
class Running:
    flow: Flow[Any]
    request: Any = None
    answer: tuple[Any, BaseException | None] | None = None
    """Of a call that the service has carried out, and whose answer is under way."""

    @property
    def is_ready(self) -> bool:
        return not isinstance(self.request, Promise) or self.request.is_done


class SeededDriver:
    """Carries out flows in one thread. Chance says which goes on, when the service gets a call, and when its answer
    arrives."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.flows: list[Running] = []
        self.timers: list[Callable[[], None]] = []

    def spawn(self, flow: Flow[Any]) -> None:
        self.flows.append(Running(flow))

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
        self.timers.append(callback)
        return lambda: self.timers.remove(callback) if callback in self.timers else None

    def run(self, until: Promise) -> Any:
        while not until.is_done:
            ready = [each for each in self.flows if each.is_ready]
            if ready:
                self._go_on(self.chance.choice(ready))
            else:
                assert self.timers, "nothing happens"
                self.timers.pop(0)()
        return until.result()

    def _go_on(self, its: Running) -> None:
        value: Any = None
        error: BaseException | None = None
        if isinstance(its.request, (Call, Work)):
            if its.answer is None:
                try:
                    its.answer = its.request.make(), None
                except BaseException as raised:
                    its.answer = None, raised
                return
            value, error = its.answer
        elif isinstance(its.request, Promise):
            try:
                value = its.request.result()
            except BaseException as raised:
                error = raised
        its.answer = None
        try:
            its.request = its.flow.send(value) if error is None else its.flow.throw(error)
        except StopIteration:
            self.flows.remove(its)


def rules() -> StepRules:
    return StepRules(retry_rule(1, 1, 2, 1), None, None, (), bound)


class Program:
    """Two branches, each with steps and waits."""

    def __init__(self, execution: Execution, effects: Effects, is_counted: bool) -> None:
        """`is_counted`: the branches are those of `all`, and not of a plain `gather`."""
        self.execution = execution
        self.effects = effects
        self.change = 1 if is_counted else 0
        group = object()
        self.branches = [Branch(execution.root, group, at) for at in range(2)]

    def placed(self, at: int, make: Callable[[], Flow[Any]]) -> Flow[Any]:
        token = place.set(Place(self.branches[at]))
        try:
            return make()
        finally:
            place.reset(token)
            self.branches[at].is_prompt = False

    def step(self, at: int, name: str, value: Any) -> Flow[Any]:
        its = self.placed(at, lambda: self._entered(name, value))
        return (yield from its)

    def _entered(self, name: str, value: Any) -> Flow[Any]:
        its = self.execution.enter("step", name)

        def work(work: Any) -> Any:
            return self.effects.do(work, value)

        return self.execution.operate(its, lambda its: step_result(self.execution, its, work, rules()))

    def event(self, at: int, name: str) -> Flow[Any]:
        def make() -> Flow[Any]:
            return operations.wait_for_event(self.execution, name, None, None, None)

        return (yield from self.placed(at, make))

    def sleep(self, at: int, name: str, seconds: float) -> Flow[Any]:
        return (yield from self.placed(at, lambda: operations.sleep(self.execution, name, seconds)))

    def one(self) -> Flow[Any]:
        yield from self.step(0, "a1", 1)
        seen = yield from self.event(0, "x")
        yield from self.step(0, "a2", seen)
        return [seen, (yield from self.event(0, "x"))]

    def two(self) -> Flow[Any]:
        yield from self.sleep(1, "nap", 2)
        yield from self.step(1, "b1", 1)
        seen = yield from self.event(1, "y")
        yield from self.step(1, "b2", seen)
        return seen

    def whole(self, end: Promise) -> Flow[None]:
        answers = [Promise(), Promise()]
        self.execution.scheduler.branched(self.change)
        self.execution.halted.when_done(lambda: passed(end, self.execution.halted))
        for flow, answer in zip((self.one(), self.two()), answers, strict=True):
            self.execution.driver.spawn(self.settled(flow, answer))
        try:
            results = []
            for answer in answers:
                results.append((yield answer))
                self.execution.scheduler.branched(-self.change)
            end.resolve((yield from _run.concluded(self.execution, results)))
        except BaseException as error:
            end.reject(error)

    def settled(self, flow: Flow[Any], answer: Promise) -> Flow[None]:
        try:
            answer.resolve((yield from flow))
        except BaseException as error:
            answer.reject(error)


def passed(end: Promise, halted: Promise) -> None:
    try:
        halted.result()
    except BaseException as error:
        end.reject(error)


def driven(seed: int, crash: Crash | None) -> tuple[RunStage, Any, Effects]:
    chance = random.Random(seed)
    moments = sorted(chance.sample(range(0, 6_000, 250), 3))
    names = ["x", "x", "y"]
    chance.shuffle(names)
    events = [Raised(at, name, number) for number, (at, name) in enumerate(zip(moments, names, strict=True))]
    stage = RunStage(events=events, crash=crash)
    effects = Effects(stage)

    def run(_: RunStage, port: Port) -> Any:
        driver = SeededDriver(chance)
        begun = Promise()

        def begin() -> Flow[None]:
            try:
                segments = yield from _run.read_segments(port)
                begun.resolve(Execution(port, Journal.of(segments, Head("h", "1")), driver))
            except BaseException as error:
                begun.reject(error)

        driver.spawn(begin())
        execution = driver.run(begun)
        end = Promise()
        driver.spawn(Program(execution, effects, seed % 2 == 0).whole(end))
        return driver.run(end)

    ended = stage.drive(run)
    expected = [event.payload for event in events if event.name == "x"]
    [y] = [event.payload for event in events if event.name == "y"]
    assert ended == [expected, y], (seed, crash, stage.calls)
    assert sorted(effects.by_key) == ["7/a1", "7/a2", "7/b1", "7/b2"]
    return stage, ended, effects


def enumerate_crashes(seeds: range) -> None:
    for seed in seeds:
        calls = len(driven(seed, None)[0].calls)
        for call in range(1, calls + 1):
            for when in ("before", "after"):
                driven(seed, Crash(call, when))


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a wait begins while the other branch is between two operations."""
    monkeypatch.setattr(_scheduler, "_TURNS", 2)


def test_no_event_is_lost_or_taken_twice() -> None:
    enumerate_crashes(range(8))


def works_during_waits(patch: pytest.MonkeyPatch) -> None:
    def work(self: Any, flow: Flow[Any]) -> Flow[Any]:
        return (yield from flow)

    patch.setattr(Scheduler, "work", work)


def occurrences_by_completion(patch: pytest.MonkeyPatch) -> None:
    counted = Occurrences.next

    def later(self: Any, name: str, caller: Any) -> str:
        key = counted(self, name, caller)
        number = 1 + sum(1 for entry in LAST[-1].all_keys() if entry.partition("#")[0] == name)
        return key if number == 1 else f"{name}#{number}"

    init = _execution.Execution.__init__

    def seen(self: Any, port: Any, journal: Any, driver: Any) -> None:
        LAST.append(journal)
        init(self, port, journal, driver)

    patch.setattr(Occurrences, "next", later)
    patch.setattr(_execution.Execution, "__init__", seen)


LAST: list[Journal] = []


def loses_a_segment(patch: pytest.MonkeyPatch) -> None:
    changes = Journal.changes

    def last(self: Journal) -> list[SegmentWrite]:
        return [write for write in changes(self) if write.number == 0]

    patch.setattr(Journal, "changes", last)


def reads_nothing(patch: pytest.MonkeyPatch) -> None:
    def none(port: Any) -> Flow[list[Any]]:
        return []
        yield

    patch.setattr(_run, "read_segments", none)


def takes_an_event_without_its_entry(patch: pytest.MonkeyPatch) -> None:
    put_all = _writer.JournalWriter.put_all

    def put(self: Any, entries: Any) -> Flow[None]:
        if any(entry["t"] == "event" and "v" in entry for entry in entries):
            yield Call(lambda: self._port.write("svc.step.x", None, {}, []))
        yield from put_all(self, entries)

    patch.setattr(_writer.JournalWriter, "put_all", put)


def all_crashes() -> None:
    for case in CASES:
        for face in (in_threads, in_tasks):
            for call in range(1, len(check(case, face).calls) + 1):
                check(case, face, crash=Crash(call, "after"))


@pytest.mark.parametrize(
    ("plant", "oracle"),
    [
        (works_during_waits, lambda: enumerate_crashes(range(40))),
        (takes_an_event_without_its_entry, lambda: enumerate_crashes(range(3))),
        (reads_nothing, all_crashes),
        (loses_a_segment, all_crashes),
        (occurrences_by_completion, all_crashes),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_planted_flaw_is_found(plant: Any, oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, TypeError)):
        oracle()
