"""One commit at a time by the SDK and by `http.client`, in turn. Prints the milliseconds of both as one line of JSON.

python test/bench/sdk-overhead.py <address> <calls> <path> <body>
"""

from __future__ import annotations

import json
import sys
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

from svc_client import Client


def main(address: str, calls: str, path: str, body: str) -> None:
    request = json.loads(body)
    host = urlsplit(address).netloc
    bare = HTTPConnection(host)
    bare.connect()
    client = Client(address, api_key=None, token=None)
    times: dict[str, list[float]] = {"sdk": [], "bare": []}

    def by_sdk() -> object:
        return client.commit_canonical_transaction("bench", request)

    def by_hand() -> object:
        content = json.dumps(request, separators=(",", ":")).encode()
        bare.request(
            "POST", path, content, {"content-type": "application/json", "accept": "application/json"}
        )
        answer = bare.getresponse()
        return json.loads(answer.read())

    assert by_sdk() == by_hand()
    for count in range(-int(calls) // 4, int(calls)):
        # Taking turns spreads other work of the machine over both.
        for name, call in (("sdk", by_sdk), ("bare", by_hand)):
            started = time.perf_counter()
            call()
            took = (time.perf_counter() - started) * 1000
            if count >= 0:
                times[name].append(took)
    print(json.dumps(times))


main(*sys.argv[1:])
