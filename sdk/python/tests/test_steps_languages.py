"""A run begins in one language and ends in the other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from service import NODE, running
from wire import ROOT
from workers import client_of, external, worker_of

from svc_client import Client
from svc_client.steps import Steps, handler, start

PATIENCE_SECONDS = 60


@handler("h-6", version="2")
def order(ctx: Steps, number: int) -> dict[str, Any]:
    by = "python"
    charge = ctx.step("charge", lambda: {"by": by, "amount": number / 4, "text": "é😀\x01"})
    same = ctx.uuid()
    approval = ctx.wait_for_event("approval", timeout=timedelta(days=7))
    ctx.sleep("cool", 0.05)
    label, mail = ctx.all(
        lambda: ctx.step("label", lambda: by), lambda: ctx.step(["mail", number], lambda: by)
    )
    sizes = ctx.map([1, 2], lambda size: ctx.step(["size", size], lambda: len("x" * size * 10_000)))
    return {
        "charge": charge,
        "approval": approval,
        "label": label,
        "mail": mail,
        "sizes": sizes,
        "version": ctx.version,
        "same": same == ctx.step("id", lambda: same),
    }


@contextmanager
def typescript(client: Client, address: str) -> Iterator[None]:
    process = subprocess.Popen(
        [NODE, "sdk/python/tests/steps-worker.ts", address, "typescript"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextmanager
def python(client: Client, address: str) -> Iterator[None]:
    with worker_of(client, [order], wait_seconds=0.2)[0]:  # type: ignore[arg-type]
        yield


def waiting(client: Client, run_id: str) -> None:
    """Until the run waits for its event. The call that asks for a run waits at the service while it has not ended."""
    step = None
    while step != "waiting:external_event:approval":
        step = client.get_execution_run(run_id, wait_seconds=0.2)["currentStep"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(external(7)) as found:
        yield found


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [(typescript, python, ["typescript", "python"]), (python, typescript, ["python", "typescript"])],
    ids=["to Python", "to TypeScript"],
)
def test_a_run_begins_in_one_language_and_ends_in_the_other(
    address: str, first: Any, second: Any, names: list[str]
) -> None:
    with client_of(address) as client:
        with first(client, address):
            run = start(client, order, 10)
            waiting(client, run.id)
        run.raise_event("approval", {"by": "kim"})
        with second(client, address):
            result = run.result(wait_timeout=PATIENCE_SECONDS)
    assert result == {
        "charge": {"by": names[0], "amount": 2.5, "text": "é😀\x01"},
        "approval": {"by": "kim"},
        "label": names[1],
        "mail": names[1],
        "sizes": [10_000, 20_000],
        "version": "2",
        "same": True,
    }
