"""The same as `python.py`, through `AsyncClient`, on asyncio or on trio.

python sdk/scenario/python_async.py <scenario> <address> <tenant> <backend>
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
from python import begun, encoded, keep, problem_of

from svc_client import APIStatusError, AsyncClient, AsyncStreamedResponse


async def main(scenario: str, address: str, tenant: str) -> None:
    steps = json.loads(await anyio.Path(scenario).read_bytes())["steps"]
    kept: dict[str, Any] = {"tenant": tenant}
    async with AsyncClient(address, api_key=None, token=None) as client:
        transcript = [{"step": each["step"], **await made(client, each, kept)} for each in steps]
    print(json.dumps(transcript))


async def made(client: AsyncClient, each: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    try:
        result = await called(client, each, kept)
    except APIStatusError as error:
        return problem_of(error)
    keep(each, result, kept)
    return {"result": result}


async def called(client: AsyncClient, each: dict[str, Any], kept: dict[str, Any]) -> Any:
    answer = begun(client, each, kept)
    if each.get("read") == "all":
        return await answer.collect()
    if each.get("read") == "pages":
        return [page async for page in answer.iter_pages()]
    result = await answer
    if isinstance(result, AsyncStreamedResponse):
        async with result:
            return encoded(await result.read())
    return result


if __name__ == "__main__":
    *given, backend = sys.argv[1:]
    anyio.run(main, *given, backend=backend)
