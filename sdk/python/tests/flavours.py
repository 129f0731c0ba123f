"""The same tests for all clients: what a test says of one in plain calls, each client does in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from threading import Event
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from stage import Clock, Stage

import svc_client
from svc_client import AsyncWorld, World


class Flavour:
    """A client and how it is used. `module` is the package: that of the fixture has another contract."""

    name = "sync"

    def __init__(self, module: Any = svc_client) -> None:
        self.module = module
        self._open: list[Any] = []

    def world(self, clock: Clock) -> Any:
        def sleep(seconds: float, until: Event) -> None:
            clock.pause(seconds)

        return World(now=clock.now, random=clock.random, sleep=sleep)

    def client(self, stage: Stage | str | None, clock: Clock | None = None, **options: Any) -> Any:
        """One that nothing of the environment reaches."""
        if clock is not None:
            options["world"] = self.world(clock)
        address = stage.address if isinstance(stage, Stage) else stage
        made = self.make(address, **{"api_key": None, "token": None, **options})
        self._open.append(made)
        return made

    def make(self, base_url: str | None, **options: Any) -> Any:
        return self.module.Client(base_url, **options)

    def call(self, client: Any, method: str, *given: Any, **named: Any) -> Any:
        return getattr(client, method)(*given, **named)

    def raw(self, client: Any, method: str, *given: Any, **named: Any) -> Any:
        return self.call(client.with_raw_response, method, *given, **named)

    def stream(self, client: Any, method: str, *given: Any, **named: Any) -> Any:
        return self.call(client.with_streaming_response, method, *given, **named)

    def run(self, work: Callable[[], Any]) -> Any:
        """Anything that the client gives, such as a read of a stream."""
        return work()

    def each(self, items: Any) -> Iterator[Any]:
        return iter(items)

    def shut(self, closable: Any) -> None:
        closable.close()

    def close(self) -> None:
        for client in self._open:
            self.shut(client)


class AsyncFlavour(Flavour):
    def __init__(self, backend: str, module: Any = svc_client) -> None:
        super().__init__(module)
        self.name = backend
        self._manager = start_blocking_portal(backend)
        self._portal: BlockingPortal = self._manager.__enter__()

    def world(self, clock: Clock) -> Any:
        async def sleep(seconds: float) -> None:
            clock.pause(seconds)

        return AsyncWorld(now=clock.now, random=clock.random, sleep=sleep)

    def make(self, base_url: str | None, **options: Any) -> Any:
        return self.module.AsyncClient(base_url, **options)

    def call(self, client: Any, method: str, *given: Any, **named: Any) -> Any:
        return self.run(partial(getattr(client, method), *given, **named))

    def run(self, work: Callable[[], Any]) -> Any:
        async def awaited() -> Any:
            result = work()
            # A list in pages can be awaited, and is not meant to be here.
            waits = isinstance(result, Awaitable) and type(result).__name__ != "AsyncPages"
            return await result if waits else result

        return self._portal.call(awaited)

    def each(self, items: Any) -> Iterator[Any]:
        async def following(iterator: Any) -> tuple[bool, Any]:
            try:
                return True, await anext(iterator)
            except StopAsyncIteration:
                return False, None

        iterator = self.run(lambda: aiter(items))
        while (found := self._portal.call(following, iterator))[0]:
            yield found[1]

    def shut(self, closable: Any) -> None:
        self._portal.call(closable.aclose)

    def close(self) -> None:
        super().close()
        self._manager.__exit__(None, None, None)


NAMES = ["sync", "asyncio", "trio"]


def flavour(name: str, module: Any = svc_client) -> Flavour:
    return Flavour(module) if name == "sync" else AsyncFlavour(name, module)
