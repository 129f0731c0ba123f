"""Tries a Python client: ``python python_client.py mcp|fastmcp <mode>`` prints one JSON line for each step."""

import asyncio
import json
import os
import sys

URL = os.environ["SVC_CLIENT_URL"]
HEADERS = {"X-Svc-Api-Key": os.environ["SVC_CLIENT_KEY"]}


def report(step, **values):
    print(json.dumps({"step": step, **values}), flush=True)


def text_of(parts):
    return "\n".join(part.text for part in parts if getattr(part, "text", None) is not None)


async def try_client(client):
    async with client:
        report("connect")
        for step, name, args in json.loads(os.environ["SVC_CLIENT_STEPS"]):
            try:
                report(step, **await STEPS[step](client, name, args))
            except Exception as error:  # Each failure is a row of the table.
                report(step, error=str(error) or repr(error))


async def list_tools(client, _name, _args):
    answer = await client.list_tools()
    return {"tools": [tool.name for tool in getattr(answer, "tools", answer)]}


async def call_tool(client, name, args):
    answer = await client.call_tool(name, args)
    return {"text": text_of(answer.content), "structured": answer.structured_content}


async def read_resource(client, uri, _args):
    answer = await client.read_resource(uri)
    return {"text": text_of(getattr(answer, "contents", answer))}


STEPS = {"list": list_tools, "call": call_tool, "search": call_tool, "read": read_resource}


async def official(mode):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=HEADERS) as http:
        await try_client(Client(streamable_http_client(URL, http_client=http), mode=mode))


async def fastmcp(mode):
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport
    from fastmcp.server import create_proxy

    client = StreamableHttpTransport(URL, headers=HEADERS)
    if mode == "proxy":
        await try_client(Client(create_proxy(client)))
    else:
        await try_client(Client(client, mode=mode))


try:
    asyncio.run({"mcp": official, "fastmcp": fastmcp}[sys.argv[1]](sys.argv[2]))
except BaseException as error:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    report("connect", error=str(error) or repr(error))
