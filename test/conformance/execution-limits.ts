import { describe, expect, it } from 'vitest';
import { refused, START } from '../support/canonical.ts';
import type { ExecutionClient } from '../support/execution.ts';
import {
  HANDLER,
  leased,
  ownRuns,
  type StartBody,
  scopeOf,
  storedRun,
  textOfBytes,
  type Work,
  working,
} from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const DAY_MS = 86_400_000;
const text = (length: number) => 'x'.repeat(length);
const tags = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag-${n}`, 'v']));
const days = (count: number, ms = 0) => new Date(START + count * DAY_MS + ms).toISOString();
/** An object whose JSON has exactly this many bytes. */
const objectOf = (bytes: number) => ({ a: text(bytes - '{"a":""}'.length) });

type Starting = (size: number) => Partial<StartBody>;
type Working = (client: ExecutionClient, work: Work, size: number, runId: string) => Promise<unknown>;

/** Each case is tried at its limit and one beyond. */
const starts: [string, number, Starting][] = [
  ['bytes of the payload', 262_144, (size) => ({ payload: textOfBytes(size) })],
  ['units of the handler', 160, (size) => ({ handlerId: text(size) })],
  ['units of the plugin', 160, (size) => ({ pluginId: text(size) })],
  ['units of the idempotency key', 160, (size) => ({ idempotencyKey: ` ${text(size)} ` })],
  ['units of the correlation id', 160, (size) => ({ correlationId: text(size) })],
  ['units of the product', 160, (size) => ({ scope: scopeOf(text(size)) })],
  ['units of the tenant', 160, (size) => ({ scope: scopeOf('p', text(size)) })],
  ['tags', 32, (size) => ({ tags: tags(size) })],
  ['units of the name of a tag', 80, (size) => ({ tags: { [text(size)]: 'v' } })],
  ['units of the value of a tag', 512, (size) => ({ tags: { t: text(size) } })],
  ['days ahead', 3_660, (size) => ({ scheduledAtUtc: days(3_660, size - 3_660) })],
];

const works: [string, number, Working][] = [
  [
    'bytes of the result of a completion',
    262_144,
    (client, work, size) => client.complete({ ...work, result: { result: textOfBytes(size) } }),
  ],
  [
    'bytes of the status details of a completion',
    65_536,
    (client, work, size) => client.complete({ ...work, result: { statusDetails: objectOf(size) } }),
  ],
  [
    'units of the error of a completion',
    4_096,
    (client, work, size) => client.complete({ ...work, result: { status: 'failed', error: text(size) } }),
  ],
  [
    'units of the failure class',
    160,
    (client, work, size) =>
      client.complete({ ...work, result: { status: 'failed', failureClass: text(size) } }),
  ],
  [
    'bytes of a reported result',
    262_144,
    (client, work, size) => client.report({ ...work, update: { result: textOfBytes(size) } }),
  ],
  [
    'bytes of reported status details',
    65_536,
    (client, work, size) => client.report({ ...work, update: { statusDetails: objectOf(size) } }),
  ],
  [
    'units of the current step',
    200,
    (client, work, size) => client.report({ ...work, update: { currentStep: text(size) } }),
  ],
  [
    'units of a reported error',
    4_096,
    (client, work, size) => client.report({ ...work, update: { error: text(size) } }),
  ],
  [
    'units of the message of an event',
    4_096,
    (client, work, size) => client.record({ ...work, message: text(size) }),
  ],
  [
    'bytes of the details of an event',
    65_536,
    (client, work, size) => client.record({ ...work, details: objectOf(size) }),
  ],
  [
    'units of the type of an event',
    160,
    (client, work, size) => client.record({ ...work, type: text(size) }),
  ],
  [
    'units of the severity of an event',
    160,
    (client, work, size) => client.record({ ...work, severity: text(size) }),
  ],
  ...(
    [
      ['units of the name', 160, (size) => ({ name: text(size), text: '' })],
      ['units of the kind', 160, (size) => ({ name: 'a', kind: text(size), text: '' })],
      ['units of the media type', 200, (size) => ({ name: 'a', mediaType: text(size), text: '' })],
      ['units of the uri', 4_096, (size) => ({ name: 'a', uri: text(size) })],
      ['inline bytes', 262_144, (size) => ({ name: 'a', text: text(size) })],
      ['members of the metadata', 32, (size) => ({ name: 'a', text: '', metadata: tags(size) })],
    ] as [string, number, (size: number) => Parameters<ExecutionClient['putArtifact']>[0]['artifact']][]
  ).map(([name, limit, artifactOf]): [string, number, Working] => [
    `${name} of an artifact`,
    limit,
    (client, work, size) => client.putArtifact({ ...work, artifact: artifactOf(size) }),
  ]),
  [
    'units of the key of a checkpoint',
    160,
    (client, work, size) =>
      client.putCheckpoint({ ...work, checkpoint: { key: text(size), content: 1, metadata: {} } }),
  ],
  [
    'bytes of a checkpoint',
    1_048_576,
    (client, work, size) =>
      client.putCheckpoint({ ...work, checkpoint: { key: 'k', content: textOfBytes(size), metadata: {} } }),
  ],
  [
    'units of the name of a raised event',
    160,
    (client, _, size, runId) => client.raise(runId, { name: text(size) }),
  ],
  [
    'bytes of the payload of a raised event',
    262_144,
    (client, _, size, runId) => client.raise(runId, { name: 'e', payload: textOfBytes(size) }),
  ],
  [
    'units of the name of a wait',
    160,
    (client, work, size) => client.wait({ ...work, kind: 'external_event', name: text(size) }),
  ],
  [
    'bytes of the payload of a timer',
    262_144,
    (client, work, size) =>
      client.wait({ ...work, kind: 'timer', name: 't', fireAtUtc: days(1), payload: textOfBytes(size) }),
  ],
  [
    'days to a timer',
    3_660,
    (client, work, size) =>
      client.wait({ ...work, kind: 'timer', name: 't', fireAtUtc: days(3_660, size - 3_660) }),
  ],
  [
    'days to the deadline of a wait',
    3_660,
    (client, work, size) =>
      client.wait({
        ...work,
        kind: 'external_event',
        name: 'e',
        timeoutAtUtc: days(3_660, size - 3_660),
      }),
  ],
];

/** As workers might spell them to imitate the runtime. */
const RUNTIME_TYPES = [
  'run.completed',
  'lease.expired',
  'wait.resumed',
  'retry.scheduled',
  ' run.x ',
  'artifact.written',
  'checkpoint.written',
  'external_event.raised',
  'timer.scheduled',
  'svc.x',
  'RUN.completed',
  'Artifact.Written',
  'r\u200bun.completed',
  '\uff52\uff55\uff4e.completed',
];

export function describeLimits({ store }: ExecutionConformance): void {
  describe('a start at its limit is admitted, and one beyond it stores nothing', () => {
    it.each(starts)('%s: %i', async (_, limit, bodyOf) => {
      const { client } = ownRuns(store(), { external: [{ handlerId: HANDLER }, { handlerId: text(160) }] });
      const start = (size: number) => client.start({ handlerId: HANDLER, ...bodyOf(size) });
      await refused('limit_exceeded', start(limit + 1));
      expect(await client.list()).toEqual([]);
      const answered = await start(limit).then(
        () => 'admitted',
        (error: { code: string }) => error.code,
      );
      // No handler has a plugin of such a name: the run is rejected, not the request.
      expect(['admitted', 'plugin_mismatch']).toContain(answered);
      expect(await client.list()).toHaveLength(1);
    });

    it('bytes of a payload are those of its canonical JSON in UTF-8', async () => {
      const { client } = ownRuns(store(), { options: { payloadBytesMax: 12 } });
      await client.start({ handlerId: HANDLER, payload: '€€€a' });
      await refused('limit_exceeded', client.start({ handlerId: HANDLER, payload: '€€€€' }));
      await client.start({ handlerId: HANDLER, payload: { b: 1.0, a: 2 } }).catch(() => undefined);
      expect(await client.list()).toHaveLength(1);
    });

    it('a refused start leaves its key free', async () => {
      const { client } = ownRuns(store());
      const body = { handlerId: HANDLER, idempotencyKey: 'k' };
      await refused('limit_exceeded', client.start({ ...body, tags: tags(33) }));
      expect((await client.start(body)).admission.replayed).toBe(false);
    });

    it.each<[string, Partial<StartBody>]>([
      ['a blank handler', { handlerId: ' ' }],
      ['a handler with a line break', { handlerId: 'a\nb' }],
      ['a correlation id with a tab', { correlationId: 'a\tb' }],
      ['half a character', { correlationId: 'a\uD800' }],
      ['a blank tenant', { scope: scopeOf('p', '') }],
      ['a tag without a name', { tags: { ' ': 'v' } }],
      ['a tag with a line break', { tags: { t: 'a\nb' } }],
      ['a tag of the service', { tags: { 'svc.admission.operation-id': 'importCollection' } }],
      ['a service identity', { scope: { ...scopeOf('p'), serviceIdentity: 'somebody@else' } }],
      ['no moment', { scheduledAtUtc: 'tomorrow' }],
    ])('%s is refused', async (_, body) => {
      const { client } = ownRuns(store());
      await refused('validation_failed', client.start({ handlerId: HANDLER, ...body }));
      expect(await client.list()).toEqual([]);
    });
  });

  describe('an event of a worker at its limit is kept, and one beyond it changes nothing', () => {
    it.each(works)('%s: %i', async (_, limit, call) => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const before = await storedRun(client, run.id);
      await refused('limit_exceeded', call(client, work, limit + 1, run.id));
      expect(await storedRun(client, run.id)).toEqual(before);
      expect(await client.artifacts(run.id)).toEqual([]);
      await refused('not_found', client.checkpoint(run.id, 'k'));
      await call(client, work, limit, run.id);
      expect(await storedRun(client, run.id)).not.toEqual(before);
    });

    it.each<[string, Working]>([
      ['a progress beyond one', (client, work) => client.report({ ...work, update: { progress: 1.01 } })],
      ['a progress below none', (client, work) => client.report({ ...work, update: { progress: -0.01 } })],
      ['a negative count', (client, work) => client.report({ ...work, update: { failed: -1 } })],
      ['a part of a count', (client, work) => client.report({ ...work, update: { requested: 0.5 } })],
      ...['.', '..', ' .. '].map((key): [string, Working] => [
        `a checkpoint key that no address can hold, "${key}"`,
        (client, work) => client.putCheckpoint({ ...work, checkpoint: { key, content: 1 } }),
      ]),
      ['an artifact of nothing', (client, work) => client.putArtifact({ ...work, artifact: { name: 'a' } })],
      ['a timer without its moment', (client, work) => client.wait({ ...work, kind: 'timer', name: 't' })],
      [
        'an event with a moment',
        (client, work) => client.wait({ ...work, kind: 'external_event', name: 'e', fireAtUtc: days(1) }),
      ],
      ...RUNTIME_TYPES.map((type): [string, Working] => [
        `an event of the runtime's own type ${type}`,
        (client, work) => client.record({ ...work, type }),
      ]),
    ])('%s is refused', async (_, call) => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const before = await storedRun(client, run.id);
      await refused('validation_failed', call(client, work, 0, run.id));
      expect(await storedRun(client, run.id)).toEqual(before);
    });

    it.each(['running.late', 'artifact.read', 'waiter', 'runs', 'leased.x'])(
      'a type like %s is the worker’s own',
      async (type) => {
        const { client } = ownRuns(store());
        const { run, work } = await working(client);
        await client.record({ ...work, type });
        expect((await client.history(run.id)).at(-1)?.type).toBe(type);
      },
    );

    it('large results, events and checkpoints are read back whole', async () => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const payload = textOfBytes(262_144);
      expect((await client.raise(run.id, { name: 'e', payload })).payload).toBe(payload);
      const content = textOfBytes(1_048_576);
      await client.putCheckpoint({ ...work, checkpoint: { key: 'k', content, metadata: {} } });
      expect((await client.checkpoint(run.id, 'k')).content).toBe(content);
      const taken = await client.wait({ ...work, kind: 'external_event', name: 'e' });
      expect(taken.outcome?.event?.payload).toBe(payload);
      await client.complete({ ...work, result: { result: payload } });
      expect((await client.get(run.id)).result).toBe(payload);
      expect((await client.list({ includeResult: true }))[0]?.result).toBe(payload);
    });
  });

  describe('events that nothing has consumed', () => {
    it('are 256 of one run, and one more is refused until one is consumed', async () => {
      const { client } = ownRuns(store());
      const run = await client.start({ handlerId: HANDLER });
      for (let n = 0; n < 256; n += 1) await client.raise(run.id, { name: 'e', payload: n });
      const before = await storedRun(client, run.id);
      await refused('inbox_full', client.raise(run.id, { name: 'e', payload: 'one more' }));
      expect(await storedRun(client, run.id)).toEqual(before);
      const work = await leased(client, run.id);
      const first = await client.wait({ ...work, kind: 'external_event', name: 'e' });
      expect(first.outcome?.event?.payload).toBe(0);
      await client.raise(run.id, { name: 'e', payload: 256 });
      for (const n of [1, 2]) {
        const next = await client.wait({ ...work, kind: 'external_event', name: 'e' });
        expect(next.outcome?.event?.payload).toBe(n);
      }
    });
  });
}
