"""A worker says which of its handlers the service does not know."""

from __future__ import annotations

from stage import Answer, Reply, Seen, Stage
from workers import still, worker_of


def answered(field: str | None) -> Answer:
    """No run; the field names unknown handlers."""

    def send(reply: Reply, _: Seen) -> None:
        reply.send(204, {} if field is None else {"Svc-Unknown-Handlers": field}, b"")

    return send


def test_says_once_which_handler_the_service_does_not_know() -> None:
    name = "a%2C%20sp%C3%A4t"
    fields = [name, name, None, f"{name}, known", None]
    with Stage(*map(answered, fields)) as stage:
        worker, recorder = worker_of(stage, {"a, sp\u00e4t": still, "known": still}, wait_seconds=0)
        worker.start()
        recorder.wait("does not know the handler known")
        worker.stop()
    said = [(log.level, log.message) for log in recorder.logs if "does not know" in log.message]
    assert [level for level, _ in said] == ["warning"] * 3
    assert ["a, sp\u00e4t" in message for _, message in said] == [True, True, False]
    assert "ExecutionRuntime:ExternalHandlers of the service does not name it, or its grants" in said[0][1]
    assert "product policies exclude it; the log of the service says which" in said[0][1]
