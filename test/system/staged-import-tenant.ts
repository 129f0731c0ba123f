import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type {
  CanonicalDocument,
  CanonicalDocumentQueryResult,
  CanonicalOutboxEvent,
  CanonicalOutboxQueryResult,
} from '../../contracts/generated/models.ts';
import { type ClientMachine, TenantClient } from '../../examples/import/client.ts';
import { readSource } from '../../examples/import/reader.ts';
import {
  IMPORT_TYPE,
  type Item,
  MANIFEST_TYPE,
  PUBLISHED_TOPIC,
  type Source,
} from '../../examples/import/shapes.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { RunningService } from '../support/service.ts';

/** A request that a client is about to send; a test may change it. */
interface Sent {
  readonly path: string;
  readonly body: { readonly idempotencyKey?: string; readonly [member: string]: unknown };
}

export type Meddle = (sent: Sent, send: () => Promise<Response>) => Promise<Response>;

export interface ClientChoices {
  readonly meddle?: Meddle;
  readonly signal?: AbortSignal;
  /** Default: failures are not waited for. */
  readonly pause?: ClientMachine['pause'];
}

/** A tenant of its own of a real service, which its clients call in process. */
export class ImportTenant {
  readonly id = `import-${randomUUID()}`;
  readonly #service: RunningService;

  constructor(service: RunningService) {
    this.#service = service;
  }

  client({ meddle, signal, pause }: ClientChoices = {}): TenantClient {
    const machine: ClientMachine = {
      fetch: (url, init) => {
        const path = new URL(url).pathname;
        const text = init.body as string;
        const send = () => this.#send(path, text);
        if (meddle === undefined) return send();
        return meddle({ path, body: JSON.parse(text) as Sent['body'] }, send);
      },
      pause: pause ?? (async () => {}),
      random: () => 0.5,
    };
    const options = { address: 'http://service', tenantId: this.id, machine };
    return new TenantClient(signal === undefined ? options : { ...options, signal });
  }

  /** All live documents of the import, read without the rules for readers. */
  async staged(importId: string): Promise<CanonicalDocument[]> {
    const found: CanonicalDocument[] = [];
    let continuationToken: string | null = null;
    do {
      const page: CanonicalDocumentQueryResult = await this.#ask('/documents/query', {
        indexes: { importId },
        limit: 1000,
        continuationToken,
      });
      found.push(...page.items);
      ({ continuationToken } = page);
    } while (continuationToken !== null);
    return found;
  }

  manifest(sourceId: string): Promise<CanonicalDocument> {
    return this.#ask('/documents/read', { documentType: MANIFEST_TYPE, id: sourceId });
  }

  record(importId: string): Promise<CanonicalDocument> {
    return this.#ask('/documents/read', { documentType: IMPORT_TYPE, id: importId });
  }

  /** Every event of the topic, in any state. */
  async published(): Promise<readonly CanonicalOutboxEvent[]> {
    const query = { topic: PUBLISHED_TOPIC, limit: 1000 };
    return (await this.#ask<CanonicalOutboxQueryResult>('/outbox/query', query)).items;
  }

  async #ask<T>(path: string, body: object): Promise<T> {
    const answer = await this.#send(`/canonical/tenants/${this.id}${path}`, JSON.stringify(body));
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`);
    return (await answer.json()) as T;
  }

  async #send(path: string, body: string): Promise<Response> {
    const answer = await this.#service.call({ method: 'POST', path, body });
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  }
}

/** A source of a given number of items, the same ones each time; `change` alters them. */
export function sourceOf(
  importId: string,
  sourceVersion: number,
  count: number,
  change: (item: Item, n: number) => Item = (item) => item,
): Source {
  return {
    importId,
    sourceId: 'parts',
    sourceVersion,
    expectedCount: count,
    sourceHash: `sha256:${importId}`,
    async *items() {
      for (let n = 0; n < count; n++) yield change(itemAt(n, sourceVersion), n);
    },
  };
}

function itemAt(n: number, edition: number): Item {
  const colour = n % 2 === 0 ? 'red' : 'blue';
  return {
    documentType: 'part',
    id: `p-${n}`,
    schemaVersion: '1',
    data: { edition, n },
    indexes: { colour },
  };
}

/** All guarantees of a published import, after any failures on the way. */
export async function expectPublished(tenant: ImportTenant, source: Source): Promise<void> {
  const { importId, sourceId, sourceVersion, expectedCount, sourceHash } = source;
  const staged = await tenant.staged(importId);
  expect(new Set(staged.map(({ id }) => id)).size).toBe(expectedCount);
  expect(staged.filter(({ revision }) => revision !== 1)).toEqual([]);
  const facts = { importId, sourceId, sourceVersion, expectedCount, sourceHash };
  expect((await tenant.manifest(sourceId)).data).toEqual({ ...facts, status: 'published' });
  // Begun and published: each once.
  expect(await tenant.record(importId)).toMatchObject({ revision: 2, data: { state: 'published' } });
  const events = (await tenant.published()).filter(({ key }) => key === sourceId);
  const payloads = events.map(({ payload }) => payload as JsonObject);
  expect(payloads.filter((payload) => payload.importId === importId)).toEqual([facts]);
  const seen = await readSource(tenant.client(), sourceId);
  expect(seen?.documents.length).toBe(expectedCount);
}
