"""Options that a worker refuses, and its log lines."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from stage import Clock, Stage, silence
from typing_tools import PACKAGE
from workers import Protocol, client_of, jumping, seen_by, still, wait, worker_of

from svc_client import SvcError
from svc_client.worker import PluginHandler, RunFailure, Worker, WorkerLog, stop_on_signals
from svc_client.worker._endings import prose
from svc_client.worker._log import to_logging

ADDRESS = "http://127.0.0.1:1"


async def coroutine(context: Any) -> None:
    pass


class Callable:
    async def __call__(self, context: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worker_id": ""}, "worker_id must be a text"),
        ({"worker_id": "a\nb"}, "worker_id must be a text"),
        ({"worker_id": "\U0001f600" * 81}, "worker_id must be a text"),
        ({"worker_id": 7}, "worker_id must be a text"),
        ({"handlers": {}}, "1 to 32 handlers"),
        ({"handlers": {f"h-{at}": still for at in range(33)}}, "1 to 32 handlers"),
        ({"handlers": [still]}, "a mapping of handler ids"),
        ({"handlers": {"h": still, " h ": still}}, "'h' twice"),
        ({"handlers": {"": still}}, "a handler id must be a text"),
        ({"handlers": {"h": "still"}}, "'h' is not a function"),
        ({"handlers": {"h": coroutine}}, "'h' is a coroutine function"),
        ({"handlers": {"h": Callable()}}, "'h' is a coroutine function"),
        ({"handlers": {"h": PluginHandler("p", coroutine)}}, "'h' is a coroutine function"),
        ({"handlers": {"h": PluginHandler(" ", still)}}, "plugin_id of 'h'"),
        ({"concurrency": 0}, "concurrency must be a whole number"),
        ({"concurrency": 1001}, "concurrency must be a whole number"),
        ({"concurrency": 1.0}, "concurrency must be a whole number"),
        ({"concurrency": True}, "concurrency must be a whole number"),
        ({"lease_seconds": 0}, "lease_seconds must be above 0 to 86400"),
        ({"lease_seconds": 86_401}, "lease_seconds must be above 0 to 86400"),
        ({"lease_seconds": float("nan")}, "lease_seconds must be above 0"),
        ({"lease_seconds": "60"}, "lease_seconds must be a number"),
        ({"heartbeat_seconds": 0}, "heartbeat_seconds must be above 0 and below"),
        ({"heartbeat_seconds": 60}, "heartbeat_seconds must be above 0 and below"),
        ({"heartbeat_seconds": True}, "heartbeat_seconds must be a number"),
        ({"wait_seconds": 21}, "wait_seconds must be 0 to 20"),
        ({"wait_seconds": -1}, "wait_seconds must be 0 to 20"),
    ],
)
def test_refuses_invalid_options_and_names_the_rule(options: dict[str, Any], message: str) -> None:
    with client_of(ADDRESS) as client, pytest.raises(SvcError, match=message):
        Worker(client, **{"worker_id": "w", "handlers": {"h": still}, **options})


def test_takes_the_largest_and_the_smallest() -> None:
    for options in (
        {"concurrency": 1_000, "lease_seconds": 86_400, "wait_seconds": 20, "heartbeat_seconds": 86_399},
        {"lease_seconds": 0.001, "wait_seconds": 0, "worker_id": "\U0001f600" * 80},
    ):
        worker, _ = worker_of(ADDRESS, {f"h-{at}": still for at in range(32)}, **options)
        assert worker.stop(0)
    worker, _ = worker_of(ADDRESS, {" h ": still}, worker_id=" w ", lease_seconds=10)
    assert repr(worker) == "Worker(worker_id='w', handlers=['h'])"
    assert (worker._settings.heartbeat_seconds, worker.stopping) == (10 / 3, False)
    for grace in (-1, float("nan"), "1", 90_000):
        with pytest.raises(SvcError, match="grace_seconds"):
            # The text is refused at run time: a caller may have no type checker.
            worker.stop(grace)  # type: ignore[arg-type]  # untyped code may pass it


def test_refuses_failures_that_the_service_would_refuse() -> None:
    with pytest.raises(SvcError, match="failure_class"):
        RunFailure("no", failure_class="")
    with pytest.raises(SvcError, match="status must be"):
        # The type refuses this status, and so does the class.
        RunFailure("no", status="succeeded")  # type: ignore[arg-type]  # untyped code may pass it


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a\r\n\tb\0\x0b\x0c\x1b\x7f\x85c", "a\r\n\tb      c"),
        ("\x00", ""),
        ("x" * 4_097, "x" * 4_096),
        ("x" * 4_095 + "\U0001f600", "x" * 4_095),
        ("\ud800a", "a"),
    ],
)
def test_a_failure_is_sent_as_the_service_takes_it(text: str, sent: str) -> None:
    assert prose(text) == sent


def test_is_not_loaded_before_it_is_used() -> None:
    program = "import sys, svc_client; print('svc_client.worker' in sys.modules, 'signal' in sys.modules)"
    env = {"PYTHONPATH": str(PACKAGE / "src")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    assert done.stdout.split()[0] == "False", done.stderr


def test_says_what_happens_to_the_logger_of_its_name(caplog: pytest.LogCaptureFixture) -> None:
    def work(context: Any) -> None:
        raise ValueError("Authorization: Bearer canary")

    with Stage(Protocol()) as stage, client_of(stage) as client, caplog.at_level(logging.INFO):
        worker = Worker(client, worker_id="w", handlers={"h": work})
        assert worker.deliver("7") == "executed"
    [failed] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert failed.name == "svc_client.worker"
    assert failed.getMessage() == "The handler failed. (run 7, handler h)"
    assert "ValueError" in caplog.text
    assert "canary" not in caplog.text


def test_an_expected_failure_is_one_line_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def work(context: Any) -> None:
        raise RunFailure("the order\nhas no lines", failure_class="validation")

    with Stage(Protocol()) as stage, client_of(stage) as client, caplog.at_level(logging.INFO):
        assert Worker(client, worker_id="w", handlers={"h": work}).deliver("7") == "executed"
    [said] = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert said.getMessage() == "The handler failed. validation: the order has no lines (run 7, handler h)"
    assert "Traceback" not in caplog.text


def test_a_traceback_of_an_expected_failure_stands_at_the_level_of_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    to_logging(WorkerLog("warning", "The handler failed.", error=RunFailure("no")))
    assert "RunFailure" not in caplog.text
    with caplog.at_level(logging.DEBUG, "svc_client.worker"):
        to_logging(WorkerLog("warning", "The handler failed.", error=RunFailure("no")))
    assert [each.levelno for each in caplog.records if each.exc_info] == [logging.DEBUG]


def test_a_service_that_is_out_of_reach_is_one_line_that_names_its_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Stage(Protocol()) as stage:
        address = stage.address
    clock = Clock()
    clock.chance = 1.0
    with client_of(address, world=jumping(clock)) as client, caplog.at_level(logging.INFO):
        worker = Worker(client, worker_id="w", handlers={"h": still})
        assert worker._polling.next() is None
    [said] = caplog.records
    assert said.levelno == logging.WARNING
    assert said.getMessage().startswith(
        f"No connection to {address} (base_url / SVC_BASE_URL); next try in 0.5 s. APIConnectionError: "
    )
    assert "\n" not in said.getMessage()
    assert "Traceback" not in caplog.text


def test_a_signal_stops_it_and_a_second_one_does_not_wait() -> None:
    begun, let_go = threading.Event(), threading.Event()
    reasons: list[Any] = []

    def work(context: Any) -> None:
        begun.set()
        wait(context.cancellation.event)
        reasons.append(context.cancellation.reason)

    before = signal.getsignal(signal.SIGUSR1)
    with Stage(Protocol()) as stage:
        worker, recorder = worker_of(stage, {"h": work})
        restore = stop_on_signals(worker, [signal.SIGUSR1], grace_seconds=3_600)
        try:
            worker.start()
            wait(begun)
            signal.raise_signal(signal.SIGUSR1)
            wait(worker._stopping.event)
            assert reasons == []
            signal.raise_signal(signal.SIGUSR1)
            wait(worker._ended)
        finally:
            restore()
            let_go.set()
        recorder.wait("The run was given up")
    assert reasons == ["stopping"]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_control_c_stops_it() -> None:
    asked = threading.Event()

    class Interrupted(Exception):
        pass

    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with Stage(Protocol(lease=seen_by(asked, silence))) as stage:
            worker, _ = worker_of(stage, {"h": still})
            main = threading.main_thread().ident
            assert main is not None

            def press() -> None:
                wait(asked)
                signal.pthread_kill(main, signal.SIGUSR1)

            threading.Thread(target=press).start()
            with pytest.raises(Interrupted):
                worker.run()
            assert worker._idle.wait(10)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_between_two_threads_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Exception):
        pass

    begin = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name.startswith("svc-worker-") and thread.name.endswith("-2"):
            raise Interrupted
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with Stage(Protocol(lease=silence)) as stage:
        worker, _ = worker_of(stage, {"h": still}, concurrency=3)
        with pytest.raises(Interrupted):
            worker.run()
        assert worker.stopping
        # Also the threads that never began have left.
        assert worker._idle.is_set()
