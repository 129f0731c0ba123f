"""Runs that a queue delivers over HTTP."""

from __future__ import annotations

import http.client
import io
import json as json_module
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.validate import validator

import pytest
from deliveries import MESSAGE, NAMES_NO_RUN, NOT_TRUE, REFUSED, environ_name
from service import running
from stage import Stage, empty, problem, silence
from stage import json as answer
from workers import Protocol, client_of, lease_of, seen_by, still, wait, worker_of

from svc_client import SvcError
from svc_client.worker import RunContext, Worker, WorkerBusyError, delivery_app


def known(environ: Any) -> bool:
    return bool(environ.get("HTTP_AUTHORIZATION") == "Bearer queue")


def posted(
    app: Callable[..., Any], body: bytes | object = MESSAGE, **environ: Any
) -> tuple[str, dict[str, str], bytes]:
    """The answer of the application to one request."""
    content = body if isinstance(body, bytes) else json_module.dumps(body).encode()
    given = {
        "REQUEST_METHOD": "POST",
        "HTTP_X_SVC_EXECUTION_DISPATCH": "1",
        "HTTP_AUTHORIZATION": "Bearer queue",
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": io.BytesIO(content),
        **environ,
    }
    said: list[Any] = []
    parts = app(
        {name: value for name, value in given.items() if value is not None}, lambda *each: said.extend(each)
    )
    return said[0][:3], dict(said[1]), b"".join(parts)


@pytest.fixture
def protocol() -> Protocol:
    return Protocol()


@pytest.fixture
def worker(protocol: Protocol) -> Iterator[Worker]:
    with Stage(protocol) as stage:
        made, _ = worker_of(stage, {"h": still})
        yield made
        made.stop(0)


def test_answers_204_whether_there_was_something_to_do_or_not(worker: Worker, protocol: Protocol) -> None:
    protocol._answers["lease"] = [answer(lease_of()), empty]
    app = delivery_app(worker, verify=known)
    assert posted(app) == ("204", {}, b"")
    assert posted(app, {"runId": " 8 "}) == ("204", {}, b"")
    assert [body["runId"] for body in protocol.sent("lease")] == ["7", "8"]
    assert len(protocol.sent("complete")) == 1


@pytest.mark.parametrize(("status", "method", "headers"), REFUSED)
def test_refuses_what_is_no_delivery(
    worker: Worker, protocol: Protocol, status: int, method: str, headers: dict[str, str | None]
) -> None:
    environ = {environ_name(name): value for name, value in headers.items()}
    answered, said, body = posted(delivery_app(worker, verify=known), REQUEST_METHOD=method, **environ)
    assert (answered, said["Content-Length"]) == (str(status), str(len(body)))
    assert said.get("Allow") == ("POST" if status == 405 else None)
    assert protocol.sent("lease") == []


@pytest.mark.parametrize("length", ["", None])
def test_needs_the_length_of_a_body(worker: Worker, protocol: Protocol, length: str | None) -> None:
    assert posted(delivery_app(worker, verify=known), CONTENT_LENGTH=length)[0] == "411"
    assert protocol.sent("lease") == []


@pytest.mark.parametrize("body", NAMES_NO_RUN, ids=str)
def test_refuses_a_message_that_names_no_run(worker: Worker, protocol: Protocol, body: Any) -> None:
    assert posted(delivery_app(worker, verify=known), body)[0] == "400"
    assert protocol.sent("lease") == []


def test_takes_a_body_of_the_largest_size_and_members_that_it_does_not_know(worker: Worker) -> None:
    app = delivery_app(worker, verify=known)
    text = json_module.dumps({**MESSAGE, "more": ""})
    assert posted(app, text.replace('""', f'"{"x" * (65_536 - len(text))}"').encode())[0] == "204"
    assert posted(app, {**MESSAGE, "reason": None})[0] == "204"


def _says(what: Any, environ: Any) -> Any:
    return what


async def awaited(environ: Any) -> bool:
    return False


class Awaited:
    async def __call__(self, environ: Any) -> bool:
        return False

    async def method(self, environ: Any) -> bool:
        return False


@pytest.mark.parametrize(
    "verify",
    [awaited, partial(awaited), Awaited(), Awaited().method],
    ids=["function", "partial", "callable", "method"],
)
def test_is_not_made_with_who_has_to_be_awaited(worker: Worker, verify: Any) -> None:
    with pytest.raises(SvcError, match="verify is a coroutine function"):
        delivery_app(worker, verify=verify)


def test_reads_nothing_of_whom_it_does_not_know(worker: Worker) -> None:
    class Untouched:
        def read(self, size: int) -> bytes:
            raise AssertionError("it was read")

    def fails(environ: Any) -> bool:
        raise ValueError("canary")

    verifiers: list[Any] = [fails, *(partial(_says, each) for each in NOT_TRUE)]
    for verify in verifiers:
        status, headers, body = posted(delivery_app(worker, verify=verify), **{"wsgi.input": Untouched()})
        assert (status, headers["WWW-Authenticate"]) == ("401", "Bearer")
        assert b"canary" not in body


@pytest.mark.parametrize("verify", [None, "yes", True])
def test_is_not_made_without_who_knows_the_queue(worker: Worker, verify: Any) -> None:
    with pytest.raises(SvcError, match="needs verify"):
        delivery_app(worker, verify=verify)
    with pytest.raises(TypeError, match="verify"):
        # A caller without a type checker may leave it out.
        delivery_app(worker)  # type: ignore[call-arg]


def test_sends_back_what_it_has_no_room_for() -> None:
    begun, let_go = threading.Event(), threading.Event()

    def work(context: RunContext) -> None:
        begun.set()
        wait(let_go)

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": work})
        app = delivery_app(worker, verify=known)
        first: list[Any] = []
        thread = threading.Thread(target=lambda: first.append(posted(app)))
        thread.start()
        wait(begun)
        status, headers, _ = posted(app)
        assert (status, headers["Retry-After"], len(protocol.sent("lease"))) == ("503", "5", 1)
        let_go.set()
        thread.join()
        assert first[0][0] == "204"
        assert posted(app)[0] == "204"
        assert worker.stop(60)
        assert posted(app)[0] == "503"
    assert len(protocol.sent("lease")) == 2


def test_sends_back_what_it_was_asking_for_when_it_was_stopped() -> None:
    asked = threading.Event()
    protocol = Protocol(lease=seen_by(asked, silence))
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": still})
        answered: list[Any] = []
        app = delivery_app(worker, verify=known)
        thread = threading.Thread(target=lambda: answered.append(posted(app)))
        thread.start()
        wait(asked)
        assert worker.stop(60)
        thread.join()
    assert answered[0][0] == "503"


@pytest.mark.parametrize("name", ["lease", "complete"])
def test_has_it_delivered_again_where_it_could_not_be_carried_out(name: str) -> None:
    heard: list[Any] = []
    protocol = Protocol(**{name: problem(400, "validation_failed")})
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": still})
        status, _, body = posted(delivery_app(worker, verify=known, on_log=heard.append))
    assert (status, body) == ("500", b"The run could not be carried out; deliver it again.\n")
    assert [(each.level, isinstance(each.error, SvcError)) for each in heard] == [("error", True)]


def test_a_worker_that_asks_takes_no_deliveries() -> None:
    with Stage(Protocol(lease=silence)) as stage:
        worker, _ = worker_of(stage, {"h": still})
        with worker:
            with pytest.raises(SvcError, match="create a worker for each"):
                worker.deliver("7")
            assert posted(delivery_app(worker, verify=known))[0] == "500"
            worker.stop(60)
        with pytest.raises(SvcError):
            worker.deliver("")


def test_a_worker_that_has_stopped_takes_none() -> None:
    with Stage(Protocol()) as stage:
        worker, _ = worker_of(stage, {"h": still})
        assert worker.stop(0)
        with pytest.raises(WorkerBusyError, match="stops"):
            worker.deliver("7")


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(app: Any) -> Iterator[int]:
    with make_server("127.0.0.1", 0, app, _Server, _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_over_http_with_the_real_service() -> None:
    def work(context: RunContext) -> object:
        return context.wait_for_external_event("go on")["outcome"]

    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "h"}) as address:
        client = client_of(address)
        worker, _ = worker_of(client, {"h": work})
        run_id = client.start_execution_run({"handlerId": "h"})["id"]
        with serving(validator(delivery_app(worker, verify=known))) as port:

            def push() -> int:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                headers = {"X-Svc-Execution-Dispatch": "1", "Authorization": "Bearer queue"}
                connection.request("POST", "/any", json_module.dumps({**MESSAGE, "runId": run_id}), headers)
                with connection.getresponse() as response:
                    response.read()
                connection.close()
                return response.status

            assert [push(), push()] == [204, 204]
            assert client.get_execution_run(run_id)["status"] == "waiting"
            client.raise_execution_event(run_id, {"name": "go on"})
            assert push() == 204
        run = client.get_execution_run(run_id)
        client.close()
    assert (run["status"], run["result"], run["attempt"]) == ("succeeded", "external_event", 2)
