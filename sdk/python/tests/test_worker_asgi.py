"""Runs that a queue delivers to an ASGI server."""

from __future__ import annotations

import asyncio
import json as json_module
import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from deliveries import MESSAGE, NAMES_NO_RUN, NOT_TRUE, REFUSED
from service import running
from stage import Answer, Stage, empty, problem
from stage import json as answer
from starlette.applications import Starlette
from starlette.routing import Mount
from wire import ROOT
from workers import LogRecorder, Protocol, client_of, lease_of

from svc_client import SvcError
from svc_client.worker import AsyncRunContext, AsyncWorker, async_delivery_app

App = Callable[[Any, Any, Any], Awaitable[None]]
Answered = tuple[int, dict[str, str], bytes]


def known(scope: Any) -> bool:
    return (b"authorization", b"Bearer queue") in scope["headers"]


async def still(context: AsyncRunContext) -> object:
    return {"done": True}


def worker_of(place: Any, handler: Any = still) -> AsyncWorker:
    options: Any = {"worker_id": "worker-1", "lease_seconds": 600, "on_log": LogRecorder()}
    return AsyncWorker(place, handlers={"h": handler}, **options)


async def posted(
    app: App,
    body: bytes | object = MESSAGE,
    method: str = "POST",
    events: list[Any] | None = None,
    **headers: str | None,
) -> Answered | None:
    """The answer of the application to one request; None without one. `events` replace those of the body."""
    content = body if isinstance(body, bytes) else json_module.dumps(body).encode()
    given = {
        "x-svc-execution-dispatch": "1",
        "authorization": "Bearer queue",
        "content-length": str(len(content)),
        **headers,
    }
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None]
    coming = [{"type": "http.request", "body": content, "more_body": False}] if events is None else events
    said: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0) if coming else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        said.append(message)

    await app({"type": "http", "method": method, "path": "/", "headers": pairs}, receive, send)
    if not said:
        return None
    begin, rest = said
    return begin["status"], {str(k, "ascii"): str(v, "ascii") for k, v in begin["headers"]}, rest["body"]


def on_stage(
    main: Callable[[AsyncWorker], Awaitable[Any]], handler: Any = still, **answers: Answer | list[Answer]
) -> Protocol:
    protocol = Protocol(**answers)
    with Stage(protocol) as stage, client_of(stage) as client:

        async def whole() -> None:
            await main(worker_of(client, handler))

        asyncio.run(whole())
    return protocol


def test_answers_204_whether_there_was_something_to_do_or_not() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        assert await posted(app) == (204, {}, b"")
        assert await posted(app, {"runId": " 8 "}) == (204, {}, b"")

    protocol = on_stage(main, lease=[answer(lease_of()), empty])
    assert [body["runId"] for body in protocol.sent("lease")] == ["7", "8"]
    assert len(protocol.sent("complete")) == 1


def test_refuses_what_the_wsgi_application_refuses() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        for status, method, headers in REFUSED:
            found = await posted(app, MESSAGE, method, **headers)
            assert found is not None
            assert (found[0], found[1]["content-length"]) == (status, str(len(found[2]))), headers
            assert found[1].get("allow") == ("POST" if status == 405 else None)
        for body in NAMES_NO_RUN:
            found = await posted(app, body)
            assert found is not None
            assert found[0] == 400, body

    assert on_stage(main).sent("lease") == []


def pieces(*texts: bytes, last: Any = None) -> list[Any]:
    events = [{"type": "http.request", "body": each, "more_body": True} for each in texts]
    return [*events, last or {"type": "http.request"}]


def test_takes_a_body_in_pieces_and_without_a_length() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        text = json_module.dumps(MESSAGE).encode()
        whole = pieces(text[:5], b"", text[5:])
        # No media type is asked for: a queue sets the one that its owner chose, or none.
        headers = {"content-length": None, "content-type": "text/plain"}
        assert await posted(app, events=whole, **headers) == (204, {}, b"")

    assert len(on_stage(main).sent("complete")) == 1


def test_refuses_a_body_that_is_too_large_before_all_of_it_has_come() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        events = [*pieces(b"x" * 65_536, b"x"), "the rest is not asked for"]
        found = await posted(app, events=events, **{"content-length": None})
        assert found is not None
        assert found[0] == 413
        assert events[1:] == ["the rest is not asked for"]

    assert on_stage(main).sent("lease") == []


def test_delivers_nothing_when_the_caller_leaves_before_the_end_of_the_body() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        events = pieces(json_module.dumps(MESSAGE).encode(), last={"type": "http.disconnect"})
        assert await posted(app, events=events) is None

    assert on_stage(main).sent("lease") == []


def test_only_true_verifies_awaited_or_not() -> None:
    async def main(worker: AsyncWorker) -> None:
        def fails(scope: Any) -> bool:
            raise ValueError("canary")

        def says(what: Any) -> list[Any]:
            async def awaited(scope: Any) -> Any:
                return what

            return [lambda scope: what, awaited]

        for verify in [fails, *(each for what in NOT_TRUE for each in says(what))]:
            found = await posted(async_delivery_app(worker, verify=verify), events=[])
            assert found is not None
            assert (found[0], found[1]["www-authenticate"]) == (401, "Bearer")
            assert b"canary" not in found[2]
        for verify in says(True):
            found = await posted(async_delivery_app(worker, verify=verify))
            assert found == (204, {}, b"")
        for nothing in (None, "yes", True):
            with pytest.raises(SvcError, match="needs verify"):
                async_delivery_app(worker, verify=nothing)  # type: ignore[arg-type]

    assert len(on_stage(main, lease=[answer(lease_of()), answer(lease_of())]).sent("complete")) == 2


def test_sends_back_what_it_has_no_room_for_and_what_was_not_carried_out() -> None:
    async def main(worker: AsyncWorker) -> None:
        heard: list[Any] = []
        app = async_delivery_app(worker, verify=known, on_log=heard.append)
        first = asyncio.ensure_future(posted(app))
        await begun.wait()
        busy = await posted(app)
        assert busy is not None
        assert (busy[0], busy[1]["retry-after"]) == (503, "5")
        end.set()
        assert await first == (204, {}, b"")
        failed = await posted(app)
        assert failed is not None
        assert (failed[0], failed[2]) == (500, b"The run could not be carried out; deliver it again.\n")
        assert [each.level for each in heard] == ["error"]

    begun, end = asyncio.Event(), asyncio.Event()

    async def work(context: AsyncRunContext) -> None:
        begun.set()
        await end.wait()

    on_stage(main, work, lease=[answer(lease_of()), problem(400, "validation_failed")])


def test_the_end_of_the_server_drains_the_worker() -> None:
    async def main(worker: AsyncWorker) -> None:
        app = async_delivery_app(worker, verify=known)
        events: asyncio.Queue[Any] = asyncio.Queue()
        said: asyncio.Queue[Any] = asyncio.Queue()
        life = asyncio.ensure_future(app({"type": "lifespan"}, events.get, said.put))
        await events.put({"type": "lifespan.startup"})
        assert await said.get() == {"type": "lifespan.startup.complete"}
        await events.put({"type": "lifespan.shutdown"})
        assert await said.get() == {"type": "lifespan.shutdown.complete"}
        await life
        assert worker.stopping
        stopped = await posted(app)
        assert stopped is not None
        assert stopped[0] == 503
        with pytest.raises(SvcError, match="needs HTTP"):
            await app({"type": "websocket"}, events.get, said.put)

    on_stage(main)


def test_the_recipe_of_starlette(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/delivery.md").read_text()
    (recipe,) = re.findall(r"^```python\n# app\.py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "mail.send"}) as address:
        monkeypatch.setenv("SVC_BASE_URL", address)
        monkeypatch.setenv("QUEUE_TOKEN", "queue")
        made: dict[str, Any] = {}
        exec(recipe, made)
        client = client_of(address)
        run_id = client.start_execution_run({"handlerId": "mail.send", "payload": "kim"})["id"]

        async def main() -> list[int]:
            async with made["lifespan"](made["app"]):
                return [await push(token) for token in ("stranger", "queue", "queue")]

        async def push(token: str) -> int:
            transport = httpx2.ASGITransport(app=made["app"])
            headers = {"x-svc-execution-dispatch": "1", "authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(transport=transport, base_url="http://queue") as queue:
                message = {**MESSAGE, "runId": run_id}
                return (await queue.post("/tasks/execution/", json=message, headers=headers)).status_code

        assert asyncio.run(main()) == [401, 204, 204]
        assert made["worker"].stopping
        assert client.get_execution_run(run_id)["result"] == {"sent": "kim"}
        client.close()
        made["worker"]._worker._polling._client.close()


def test_a_route_of_starlette_with_the_real_service() -> None:
    async def work(context: AsyncRunContext) -> object:
        return (await context.wait_for_external_event("go on"))["outcome"]

    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "h"}) as address:
        client = client_of(address)

        async def main() -> Any:
            run_id = client.start_execution_run({"handlerId": "h"})["id"]
            delivery = async_delivery_app(worker_of(client, work), verify=known)
            app = Starlette(routes=[Mount("/tasks/execution", delivery)])
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://queue") as queue:

                async def push(**headers: str) -> int:
                    given = {"x-svc-execution-dispatch": "1", "authorization": "Bearer queue", **headers}
                    message = {**MESSAGE, "runId": run_id}
                    return (await queue.post("/tasks/execution/", json=message, headers=given)).status_code

                assert [await push(authorization="Bearer stranger"), await push(), await push()] == [
                    401,
                    204,
                    204,
                ]
                client.raise_execution_event(run_id, {"name": "go on"})
                assert await push() == 204
            return client.get_execution_run(run_id)

        run = asyncio.run(main())
        client.close()
    assert (run["status"], run["result"], run["attempt"]) == ("succeeded", "external_event", 2)
