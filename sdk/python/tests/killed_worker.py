"""A worker as a process: `python killed_worker.py <address> <handler id> <seconds of a lease>`. Says when it works, and
then works until it is killed or stopped by a signal."""

from __future__ import annotations

import sys
import threading

from svc_client import Client
from svc_client.worker import RunContext, Worker, WorkerLog, stop_on_signals


def say(text: str) -> None:
    print(text, flush=True)


def work(context: RunContext) -> object:
    context.checkpoint("begun", {"by": "the one that is killed"})
    say(f"working on {context.run['id']}")
    if context.payload != "until stopped":
        threading.Event().wait()
    worker._stopping.event.wait()
    return {"stopped": context.cancellation.reason}


def listen(said: WorkerLog) -> None:
    """Drops the log lines: the test reads the standard output."""


address, handler_id, lease_seconds = sys.argv[1:]
with Client(address, api_key=None, token=None) as client:
    worker = Worker(
        client,
        worker_id="killed",
        handlers={handler_id: work},
        lease_seconds=int(lease_seconds),
        on_log=listen,
    )
    stop_on_signals(worker, grace_seconds=60)
    worker.run()
say("stopped")
