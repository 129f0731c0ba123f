"""The journal of a program is the same in every kit."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from step_vectors import VECTORS, titled
from steps_faces import FACES
from steps_stage import RunStage

from svc_client.steps import StepFailed, Stop
from svc_client.steps._port import ChildOutcome


class Handled:
    def __init__(self, handler_id: str) -> None:
        self.id = handler_id


def stage_of(program: Any) -> RunStage:
    replies, children = dict[str, Any](), dict[str, Any]()
    uuids, randoms = list[str](), list[float]()
    for op in program["ops"]:
        if op["op"] == "event" and op.get("payload") != "none" and "afterMs" in op:
            replies[op["name"]] = (op["afterMs"], op["payload"])
        if op["op"] == "invoke":
            failed = op.get("failed")
            ended = (
                ChildOutcome("succeeded", op.get("result"))
                if failed is None
                else ChildOutcome(failed["status"], None, failed["failureClass"], failed["error"])
            )
            children[op["handler"]] = (0, ended)
        if op["op"] in ("uuid", "random"):
            (uuids if op["op"] == "uuid" else randoms).append(op["gives"])
    return RunStage(replies=replies, children=children, uuids=uuids, randoms=randoms)


def error_of(given: Any) -> Exception:
    kind = type(given["name"], (Exception,), {})
    error: Any = kind(given["message"])
    if "code" in given:
        error.code = given["code"]
    return error


def handler_of(program: Any, stage: RunStage) -> Any:
    def tried(op: Any, attempt: int) -> Any:
        its = op["tries"][attempt - 1]
        stage.at += its["takesMs"]
        if "error" in its:
            raise error_of(its["error"])
        return its["value"]

    def undone(op: Any) -> None:
        stage.at += op["undo"]["takesMs"]

    async def perform(steps: Any, op: Any) -> None:
        kind, name = op["op"], op.get("name", "")
        if kind == "step":
            retry, more = op.get("retry"), dict[str, Any]()
            if retry is not None:
                more = {"attempts": retry["attempts"], "delay": retry["delaySeconds"]}
                more["factor"] = retry.get("factor", 2)
            if "undo" in op:
                more["undo"] = lambda _: undone(op)
            await steps.step(name, lambda its: tried(op, its.attempt), **more)
        elif kind == "sleep":
            await steps.sleep(name, op["seconds"])
        elif kind == "event":
            await steps.wait_for_event(name, timeout=op.get("timeoutSeconds"))
        elif kind in ("start", "invoke"):
            call = steps.start if kind == "start" else steps.invoke
            await call(name, Handled(op["handler"]), op["input"])
        elif kind == "since":
            await steps.since(op["change"])
        elif kind == "stop":
            raise Stop(op["message"])
        else:
            await getattr(steps, kind)()

    async def run(steps: Any, _: Any) -> None:
        for op in program["ops"]:
            may_fail = (StepFailed,) if op.get("mayFail") else ()
            with contextlib.suppress(*may_fail):
                await perform(steps, op)

    return run


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("program", **titled(VECTORS["programs"]))
def test_a_program_writes_the_journal(program: Any, face: Any) -> None:
    stage = stage_of(program)
    run = face(handler_of(program, stage), program.get("version", "1"), program["handler"])
    ended = stage.drive(run)
    assert (str(ended) if isinstance(ended, Exception) else None) == program.get("ends")
    assert stage.segments == program["segments"]
    assert stage.faults == []
