import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { BlobError, type BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import { problemOf } from '../../functions/http/problem.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { artifactPrefix } from '../../functions/runs/artifact.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import { openProduct, ownRuns, scopeOf, textOfBytes, type Work, working } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

type Artifact = Parameters<ExecutionClient['putArtifact']>[0]['artifact'];

const INLINE = { options: { artifactInlineBytesMax: 1_000 } };

export function describeArtifacts({ store }: ExecutionConformance): void {
  const put = (client: ExecutionClient, work: Work, artifact: Artifact) =>
    client.putArtifact({ ...work, artifact });
  const find = (client: ExecutionClient, runId: string, ref: string) => client.artifact(runId, ref);
  const list = (client: ExecutionClient, runId: string) => client.artifacts(runId);

  describe('artifacts', () => {
    it.each<[string, Artifact, string]>([
      ['text', { name: 'a', kind: 'text', mediaType: 'text/plain', text: 'grüß' }, 'grüß'],
      ['an empty text', { name: 'a', text: '' }, ''],
      ['content', { name: 'a', content: { b: 1, a: [null] } }, '{"a":[null],"b":1}'],
      ['a place elsewhere', { name: 'a', kind: 'object_reference', uri: 'gs://b/o' }, 'gs://b/o'],
      ['text, content and a place', { name: 'a', text: 't', content: 1, uri: 'u' }, 't'],
    ])('of %s are kept with their run', async (_, artifact, material) => {
      const { client, clock } = ownRuns(store(), INLINE);
      const { run, work } = await working(client);
      const written = await put(client, work, { ...artifact, metadata: { m: 'n' } });
      expect(written).toEqual({
        id: expect.stringMatching(/^[0-9]{20}$/),
        runId: run.id,
        name: 'a',
        kind: artifact.kind ?? 'json',
        mediaType: artifact.mediaType ?? null,
        contentHash: sha256(material),
        sizeBytes: Buffer.byteLength(material),
        text: artifact.text ?? null,
        content: artifact.content ?? null,
        uri: artifact.uri ?? null,
        createdAtUtc: new Date(clock.now).toISOString(),
        metadata: { m: 'n' },
      });
      expect(await find(client, run.id, written.id)).toEqual(written);
      expect(await find(client, run.id, 'a')).toEqual(written);
      expect(await list(client, run.id)).toEqual([written]);
    });

    it('are found by id before name, and by name the newest, each in its run alone', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const other = await working(client);
      const first = await put(client, work, { name: 'a', text: '1' });
      const second = await put(client, work, { name: 'a', text: '2' });
      const named = await put(client, work, { name: first.id, text: '3' });
      const elsewhere = await put(client, other.work, { name: 'a', text: '4' });
      expect(await find(client, run.id, 'a')).toEqual(second);
      expect(await find(client, run.id, first.id)).toEqual(first);
      expect(await list(client, run.id)).toEqual([first, second, named]);
      expect(await list(client, other.run.id)).toEqual([elsewhere]);
      for (const ref of ['A', 'b', elsewhere.id]) await refused('not_found', find(client, run.id, ref));
      const unknownRun = '00000000000000000001';
      await refused('not_found', find(client, unknownRun, 'a'));
      await refused('not_found', list(client, unknownRun));
    });

    it('stay after the end of their run, and none is added then', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const written = await put(client, work, { name: 'a/b%?#', text: '1' });
      await client.complete({ ...work, result: {} });
      await refused('lease_not_active', put(client, work, { name: 'late', text: '2' }));
      await refused('lease_stale', put(client, { ...work, leaseToken: 'no' }, { name: 'x', text: '2' }));
      expect(await list(client, run.id)).toEqual([written]);
      expect(await find(client, run.id, 'a/b%?#')).toEqual(written);
    });

    it('have names as their product has them', async () => {
      const policies = [{ ...openProduct, productId: 'p', artifactPrefix: 'out/' }];
      const { client } = ownRuns(store(), { policies });
      const { run, work } = await working(client, { scope: scopeOf('p') });
      await refused('product_policy_violation', put(client, work, { name: 'in/a', text: '' }));
      await put(client, work, { name: 'out/a', text: '' });
      expect(await list(client, run.id)).toHaveLength(1);
    });

    it('are listed with their bytes while those fit into one answer, and all found by themselves', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const text = textOfBytes(262_144);
      const large = Array.from({ length: 34 }, () => put(client, work, { name: 'large', text }));
      await Promise.all(large);
      const small = await put(client, work, { name: 'small', content: { a: 1 }, metadata: { m: 'n' } });
      const listed = await list(client, run.id);
      expect(JSON.stringify(listed).length).toBeLessThan(8_400_000);
      expect(listed.filter((each) => each.text === text)).toHaveLength(31);
      expect(listed.slice(31, 34).map((each) => [each.name, each.text, each.sizeBytes])).toEqual(
        Array.from({ length: 3 }, () => ['large', null, text.length]),
      );
      expect(listed.slice(34)).toEqual([small]);
      expect((await find(client, run.id, listed[33]?.id ?? '')).text).toBe(text);
    });

    it('are limited per run, also when several are added at once', async () => {
      const { client, scope } = ownRuns(store(), { options: { artifactsPerRunMax: 5 } });
      const options = { artifactsPerRunMax: 5 };
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2, options }).instance);
      const { run, work } = await working(client);
      const calls = Array.from({ length: 10 }, (_, n) =>
        put(n % 2 === 0 ? client : other, work, { name: `a${n}`, text: '' }).then(
          () => 'put',
          (error: { code: string }) => error.code,
        ),
      );
      const answers = await Promise.all(calls);
      expect(answers.filter((answer) => answer === 'put')).toHaveLength(5);
      expect(answers.filter((answer) => answer === 'limit_exceeded')).toHaveLength(5);
      expect(await list(client, run.id)).toHaveLength(5);
    });
  });

  describe('artifacts above the inline limit', () => {
    // A folder for each test: stages with the same start time may draw the same ids.
    let blobs: BlobStore;
    beforeEach(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-blobs-'));
      blobs = await openFileBlobs({ folder, ...machine });
    });
    const keysOf = async (runId: string) => (await blobs.list(artifactPrefix(runId), { limit: 100 })).keys;

    it.each<[string, Artifact, string]>([
      ['text', { name: 'a', text: 'é'.repeat(501) }, 'é'.repeat(501)],
      ['content', { name: 'a', content: textOfBytes(1_001) }, JSON.stringify(textOfBytes(1_001))],
    ])('lie elsewhere (%s), under the same fields', async (_, artifact, material) => {
      const { client } = ownRuns(store(), { ...INLINE, blobs });
      const { run, work } = await working(client);
      const written = await put(client, work, { ...artifact, metadata: { m: 'n' } });
      expect(written).toMatchObject({
        text: null,
        content: null,
        sizeBytes: Buffer.byteLength(material),
        contentHash: sha256(material),
        metadata: { m: 'n', storage: 'files', offloaded: 'true', inline: 'false' },
      });
      expect(written.uri).not.toBeNull();
      expect(await list(client, run.id)).toEqual([written]);
      const whole = { ...written, text: artifact.text ?? null, content: artifact.content ?? null };
      expect(await find(client, run.id, 'a')).toEqual(whole);
      expect(await find(client, run.id, written.id)).toEqual(whole);
      expect(await keysOf(run.id)).toHaveLength(1);
    });

    it('are refused like a full store when the blob store is full, and the run continues', async () => {
      const full = Object.assign(Object.create(blobs) as BlobStore, {
        put: () => Promise.reject(new BlobError('full', 'no space')),
      });
      const { client } = ownRuns(store(), { ...INLINE, blobs: full });
      const { run, work } = await working(client);
      const error: unknown = await put(client, work, { name: 'a', text: 'x'.repeat(1_001) }).catch(
        (thrown: unknown) => thrown,
      );
      expect(problemOf(error, 'c')).toMatchObject({ code: 'storage_full', response: { status: 503 } });
      expect(await list(client, run.id)).toEqual([]);
      expect((await put(client, work, { name: 'a', text: 'small' })).text).toBe('small');
    });

    it('start with the first byte above it', async () => {
      const { client } = ownRuns(store(), { ...INLINE, blobs });
      const { run, work } = await working(client);
      const inline = await put(client, work, { name: 'a', content: textOfBytes(1_000) });
      expect(inline.content).toBe(textOfBytes(1_000));
      expect(await keysOf(run.id)).toEqual([]);
    });

    it('above the inline limit are refused without a blob store, and nothing is stored', async () => {
      const { client } = ownRuns(store(), INLINE);
      const { run, work } = await working(client);
      await refused('limit_exceeded', put(client, work, { name: 'a', text: 'x'.repeat(1_001) }));
      expect(await list(client, run.id)).toEqual([]);
      expect(await client.history(run.id)).toHaveLength(3);
    });

    it.each<[string, Artifact]>([
      ['text that also lies elsewhere', { name: 'a', text: 'x'.repeat(1_001), uri: 'gs://b/o' }],
      ['content beside a small text', { name: 'a', text: 'x', content: textOfBytes(1_000) }],
      ['content that also lies elsewhere', { name: 'a', content: textOfBytes(1_001), uri: 'gs://b/o' }],
    ])('are refused where they are more than one thing: %s', async (_, artifact) => {
      const { client } = ownRuns(store(), { ...INLINE, blobs });
      const { run, work } = await working(client);
      await refused('limit_exceeded', put(client, work, artifact));
      expect(await list(client, run.id)).toEqual([]);
      expect(await keysOf(run.id)).toEqual([]);
    });

    it('of a caller without the lease use no storage', async () => {
      const { client } = ownRuns(store(), { ...INLINE, blobs });
      const { run, work } = await working(client);
      const big = { name: 'a', text: 'x'.repeat(1_001) };
      await refused('lease_stale', put(client, { ...work, leaseToken: 'no' }, big));
      expect(await keysOf(run.id)).toEqual([]);
    });

    it('are as large as an artifact may be, and not a byte larger', async () => {
      const { client } = ownRuns(store(), { blobs });
      const { run, work } = await working(client);
      const largest = 'x'.repeat(16_777_216);
      const written = await put(client, work, { name: 'a', text: largest });
      expect(written.sizeBytes).toBe(16_777_216);
      expect((await find(client, run.id, 'a')).text).toHaveLength(16_777_216);
      await refused('limit_exceeded', put(client, work, { name: 'b', text: `${largest}x` }));
      expect(await list(client, run.id)).toHaveLength(1);
    });

    it('whose bytes were removed are not found', async () => {
      const { client } = ownRuns(store(), { ...INLINE, blobs });
      const { run, work } = await working(client);
      await put(client, work, { name: 'a', text: 'x'.repeat(1_001) });
      await blobs.removeAll(artifactPrefix(run.id));
      await refused('not_found', find(client, run.id, 'a'));
      expect(await list(client, run.id)).toHaveLength(1);
    });
  });
}
