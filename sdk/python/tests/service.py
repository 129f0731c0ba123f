"""The real service, embedded, on a port and a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

from wire import ROOT

NODE = ROOT / "node_modules/.bin/node"

# One address sends all the requests, so its permit limit is raised, here in the open.
_RAISED = ("Server:CanonicalRateLimit:PermitLimit=100000", "Server:CanonicalRateLimit:WindowSeconds=1")


@contextmanager
def running(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its address."""
    flags = [f"--{setting}" for setting in _RAISED]
    flags += [f"--{name}={value}" for name, value in (settings or {}).items()]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PORT": "0", "METADATA_SERVER_DETECTION": "none", "SVC_DATA_DIR": folder}
        process = subprocess.Popen(
            [NODE, "functions/embedded.ts", *flags],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        try:
            address = _address_in(process.stdout)
            # A full pipe would stop it.
            reader = Thread(target=process.stdout.read)
            reader.start()
            yield address
            process.terminate()
            reader.join()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _address_in(lines: Iterator[str]) -> str:
    said: list[str] = []
    for line in lines:
        said.append(line)
        address = re.search(r"is ready at (https?://\S+)", line)
        if address is not None:
            return address[1]
    raise AssertionError(f"the service ended before it was ready: {''.join(said)}")
