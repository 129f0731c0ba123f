"""Lines that type checkers must refuse: exactly those marked as refused. Checked, and never run."""

from svc_client import AsyncClient, Cancellation, Client, models


def sync(client: Client, document: models.CanonicalDocument) -> None:
    client.commit_canonical_transaction("t", {"mutations": []})  # refused: the key is the caller's to give
    client.commit_canonical_transaction("t")  # refused: a request is needed
    client.commit_canonical_transaction({"idempotencyKey": "k"})  # refused: the tenant comes first
    client.query_canonical_documents("t", {"limt": 5})  # refused: misspelt
    client.query_canonical_documents("t", {"limit": "5"})  # refused: no number
    client.query_canonical_documents("t", {"orderDirection": "down"})  # refused: not of the vocabulary
    client.lease_canonical_outbox("t", {"consumerId": "c"}, idempotency_key="k")  # refused: takes no key
    client.health(options={"tiemout": 5})  # refused: misspelt
    client.health(options={"timeout": "5"})  # refused: no number
    client.health({"timeout": 5})  # refused: options go by their name
    client.helth()  # refused: no such method
    client.query_canonical_documents("t")["items"]  # refused: a list in pages is not a page
    client.export_canonical_tenant("t")["document"]  # refused: no such member
    client.with_raw_response.health()["version"]  # refused: the answer, not its content
    client.with_options(tiemout=5)  # refused: misspelt
    Client("https://x.example", timeout="5")  # refused: no number
    Client("https://x.example", token=token)  # refused: a coroutine
    print(document["data"]["status"])  # refused: a tombstone has none
    print(document["revison"])  # refused: misspelt
    client.apply_canonical_migrations([{"namespace": "n"}])  # refused: members are missing


async def token() -> str:
    return "t"


async def waits(client: AsyncClient) -> None:
    client.health()["version"]  # refused: the call is not awaited
    await client.health(options={"cancellation": Cancellation()})  # refused: tasks are cancelled
    for _ in client.query_canonical_documents("t"):  # refused: asynchronous
        pass
    await client.lease_canonical_outbox("t", {})  # refused: the consumer has a name
    with client:  # refused: asynchronous
        pass
