"""Writes rag-plans.json: chunks, ids and hashes of ingestions, computed by a second implementation of the rules.

    python3 test/vectors/rag-plans.py > test/vectors/rag-plans.json && npx biome format --write test/vectors

It shares nothing with the service: regular expressions instead of a scan, and Python's own JSON. Texts have no code point
above U+FFFF here, so an index of Python is one of UTF-16.
"""

import hashlib
import json
import re

SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
PLAIN = re.compile(r"[^ !#-%(-*,-;=?-\[\]-_a-~]")
SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def sha(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def quoted(text):
    units = text.encode("utf-16-be", "surrogatepass")
    chars = [chr(int.from_bytes(units[i : i + 2], "big")) for i in range(0, len(units), 2)]
    return '"' + "".join(SHORT.get(c) or (f"\\u{ord(c):04X}" if PLAIN.match(c) else c) for c in chars) + '"'


class Spelled(int):
    """A number that keeps its text; a whole one may be counted with."""

    def __new__(cls, text):
        made = super().__new__(cls, int(float(text)))
        made.text = text
        return made


def canonical(value):
    if isinstance(value, Spelled):
        return value.text
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(quoted(name) + ":" + canonical(value[name]) for name in names) + "}"


def stripped(text):
    return re.sub(f"[{SPACE}]+$", "", text)


def spans(text, size, overlap):
    start, found = 0, []
    while True:
        start += len(re.match(f"[{SPACE}]*", text[start:]).group())
        if start >= len(text):
            return found
        hard = min(len(text), start + size)
        end = hard
        if hard < len(text):
            least = start + max(1, size // 2)
            window = text[least:hard]
            blank = [m.start() for m in re.finditer(r"(?=\n\r?\n)", window)]
            line = window.rfind("\n")
            sentence = [m.start() + 1 for m in re.finditer(f"[.!?](?=[{SPACE}])", text[least : hard + 1])]
            white = [m.start() for m in re.finditer(f"[{SPACE}]", window)]
            if blank:
                end = least + blank[-1]
            elif line >= 0:
                end = least + line
            elif sentence:
                end = least + sentence[-1]
            elif white:
                end = least + white[-1]
        end = start + len(stripped(text[start:end]))
        found.append((start, end))
        if end >= len(stripped(text)):
            return found
        start = max(start + 1, end - overlap)


def prefix_of(text):
    text = text.strip()
    slug = re.sub(r"[^A-Za-z0-9\-_.]", "-", text).strip("-_.") or "doc"
    return slug if slug == text and len(slug) <= 128 else f"{slug[:111]}-{sha(text)[7:23]}"


def trimmed(value):
    return (value or "").strip() or None


def plan(case):
    request, policy, model = case["request"], case["policy"], case["model"]
    options = request.get("options") or {}
    text, size, overlap = request["text"], options.get("chunkChars", 1200), options.get("chunkOverlapChars", 150)
    text_hash = sha(text)
    document_id = trimmed(request.get("documentId")) or "doc-" + text_hash[7:23]
    prefix = prefix_of(request.get("idPrefix") or document_id)
    vector = policy["vectorPolicies"][0]
    purpose = (request.get("embedding") or {}).get("purpose", "passage")
    put = (request.get("embedding") or {}).get("passagePrefix") or ""
    partition = request["partitionKey"]
    chunks = []
    for index, (start, end) in enumerate(spans(text, size, overlap)):
        own = text[start:end]
        embedded = own if own.startswith(put) else put + own
        chunks.append(
            {
                "index": index,
                "id": f"{prefix}-chunk-{index:04d}-{sha(own)[7:19]}",
                "partitionKey": partition,
                "charStart": start,
                "charEnd": end,
                "textLength": end - start,
                "textHash": sha(own),
                "embeddingTextHash": sha(embedded),
            }
        )
    sources = request.get("sources")
    if sources is not None:
        known = dict.fromkeys(["id", "kind", "uri", "label", "span"])
        inner = dict.fromkeys(["charStart", "charEnd", "line", "column", "anchor"])
        sources = [{**known, **each} for each in sources]
        for each in sources:
            each["span"] = each["span"] and {**inner, **each["span"]}
    source = {name: trimmed(request.get(name)) for name in ["sourceUri", "sourceKind", "sourceId", "sourceLabel"]}
    dedupe = options.get("deduplicateExistingChunks", False)
    header = {
        "collection": policy["name"],
        "documentId": document_id,
        "partitionKey": partition,
        "chunkRecordType": request.get("type") or "rag.chunk",
        "schemaVersion": request.get("schemaVersion"),
        "contentField": request.get("contentField") or "text",
        "embeddingField": vector["name"],
        "embeddingProvider": model["provider"],
        "embeddingModel": model["modelId"],
        "embeddingPurpose": purpose,
        "embeddingDimensions": model["dimensions"],
        "vectorPath": vector["path"],
        "vectorDatatype": vector.get("datatype", "float32"),
        "vectorDistanceFunction": vector.get("distanceFunction", "cosine"),
        "vectorIndexType": vector.get("indexType", "flat"),
        "textLength": len(text),
        "documentTextHash": text_hash,
        "chunkChars": size,
        "chunkOverlapChars": overlap,
        "deduplicateExistingChunks": dedupe,
        "chunkDedupeScope": options.get("chunkDedupeScope", "partition") if dedupe else None,
        "metadataHash": sha(canonical(request.get("metadata") or {})),
        "sourceHash": sha(canonical({**source, "sources": sources})),
    }
    manifest_hash = sha(canonical({"version": "v1", **header, "chunks": chunks}))
    seen, acted = {}, []
    for chunk in chunks:
        first = seen.setdefault(chunk["embeddingTextHash"] + chunk["textHash"], chunk)
        double = dedupe and first is not chunk
        acted.append(
            {
                **chunk,
                "action": "deduplicated" if double else "created",
                "embeddingAction": "deduplicated" if double else "generated",
                "reusedVectorFromId": None,
                "reusedVectorFromPartitionKey": None,
                "deduplicatedFromId": first["id"] if double else None,
                "deduplicatedFromPartitionKey": partition if double else None,
            }
        )
    persist = options.get("persistManifest", False)
    made = sum(each["action"] == "created" for each in acted)
    plan_input = {
        "version": "rag.ingest.plan.v1",
        **header,
        "idPrefix": prefix,
        "replaceDocumentChunks": options.get("replaceDocumentChunks", False),
        "skipUnchangedChunks": options.get("skipUnchangedChunks", False),
        "reuseExistingChunkVectors": False,
        "vectorReuseScope": options.get("vectorReuseScope", "partition"),
        "persistManifest": persist,
        "manifestId": (prefix_of(options["manifestId"]) if options.get("manifestId") else prefix + "-manifest")
        if persist
        else None,
        "manifestHash": manifest_hash if persist else None,
        "manifestAction": "created" if persist else None,
        "chunkCount": len(chunks),
        "deletedStaleCount": 0,
        "createdCount": made,
        "updatedCount": 0,
        "reusedCount": 0,
        "vectorGeneratedCount": made,
        "vectorReusedCount": 0,
        "deduplicatedCount": len(chunks) - made,
        "staleDeletes": [],
        "chunks": acted,
    }
    return {
        "documentId": document_id,
        "chunks": [[each["id"], each["charStart"], each["charEnd"]] for each in chunks],
        "manifestHash": manifest_hash,
        "planHash": sha(canonical(plan_input)),
    }


def policy(dimensions=8, **more):
    vector = {"name": "v", "path": "/vectors/v/values", "dimensions": dimensions, **more}
    return {"name": "notes", "vectorPolicies": [vector]}


MODEL = {"provider": "deterministic-hash", "modelId": "deterministic-hash-v1", "dimensions": 8}
SENTENCES = " ".join(f"Sentence {n} says what holds in case {n * n}." for n in range(40))
PARAGRAPHS = "\n\n".join(f"Paragraph {n}.\nIt has two lines, of which this is the second!  " for n in range(12))
CASES = {
    "one short chunk": '{"partitionKey":"p","text":"A short text.\\n"}',
    "sentences": json.dumps({"partitionKey": "p", "text": SENTENCES, "options": {"chunkChars": 200, "chunkOverlapChars": 40}}),
    "paragraphs with a manifest": json.dumps(
        {
            "partitionKey": "tenant/é",
            "documentId": " Handbuch Süd ",
            "text": PARAGRAPHS,
            "schemaVersion": "2",
            "contentField": "body",
            "sourceUri": " file:///h.txt ",
            "options": {"chunkChars": 100, "chunkOverlapChars": 0, "persistManifest": True, "replaceDocumentChunks": True},
        }
    ),
    "line ends of Windows, prefix of the model's text": json.dumps(
        {
            "partitionKey": "p",
            "idPrefix": "..a b__",
            "text": PARAGRAPHS.replace("\n", "\r\n"),
            "embedding": {"passagePrefix": "passage: "},
            "options": {"chunkChars": 90, "chunkOverlapChars": 30, "manifestId": "-m/1", "persistManifest": True},
        }
    ),
    "one long word": json.dumps({"partitionKey": "p", "text": "x" * 95, "options": {"chunkChars": 10, "chunkOverlapChars": 9}}),
    "duplicates of the request": json.dumps(
        {
            "partitionKey": "p",
            "text": "same words. " * 12,
            "options": {"chunkChars": 11, "chunkOverlapChars": 0, "deduplicateExistingChunks": True},
        }
    ),
    "a prefix that is cut behind a dot": json.dumps(
        {"partitionKey": "p", "idPrefix": "." + "x" * 127 + ".y", "text": "Short.", "options": {"persistManifest": True}}
    ),
    "metadata and sources as received": '{"partitionKey":"p","text":"Text <b>&\'é\\u007f` with\\u3000odd\\u0085spaces","type":"note",'
    '"metadata":{"b":1.50,"a":{"z":[1e2,-0,true,null],"\\u00e9":"\\"+<"},"10":1,"9":2},'
    '"sources":[{"uri":"u","more":{"y":1,"x":2.0},"span":{"anchor":"a","charStart":3}},{"id":"s","span":null}],'
    '"options":{"chunkChars":12,"chunkOverlapChars":3,"vectorReuseScope":"collection"}}',
}

print(
    json.dumps(
        {
            name: {
                "request": text,
                "policy": policy(),
                "model": MODEL,
                "expected": plan(
                    {"request": json.loads(text, parse_float=Spelled, parse_int=Spelled), "policy": policy(), "model": MODEL}
                ),
            }
            for name, text in CASES.items()
        },
        indent=1,
    )
)
