import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type ScenarioStep, STEPS } from '../conformance/whole-steps.ts';
import { isNightly } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';

/** All operations of the whole scenario with a clock that is set back and forth at any of its readings. */

/** Jobs end in spite of seconds; an hour ends or prolongs leases and retries, so no job runs beside it. */
const SECONDS_MS = [500, 3_000];
const HOURS_MS = [500, 3_000, 3_600_000];
/** One reading in this number moves the clock. */
const SELDOM = 16;

/** Whether a reading moves the clock, and by how much, follows from the seed alone. It never goes further than the longest jump. */
class JumpingWorld {
  jumpsMs = SECONDS_MS;
  backwards = 0;
  #readings = 0;
  #offset = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get world(): World {
    const clock = { now: () => this.#now() };
    return { ...hurried, clock, turns: new TurnRoom(clock) };
  }

  #now(): number {
    this.#readings += 1;
    const drawn = createHash('sha256').update(`${this.#seed}/${this.#readings}`).digest();
    if (drawn.readUInt16BE(0) % SELDOM === 0) {
      const jump = this.jumpsMs[drawn.readUInt8(2) % this.jumpsMs.length] ?? 0;
      const most = Math.max(...this.jumpsMs);
      const wanted = drawn.readUInt8(3) % 2 === 0 ? this.#offset - jump : this.#offset + jump;
      const moved = Math.min(most, Math.max(-most, wanted));
      if (moved < this.#offset) this.backwards += 1;
      this.#offset = moved;
    }
    return hurried.clock.now() + this.#offset;
  }
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The moments in an answer that no clock can have given. `last` has the moments seen so far, by record. */
function faultsOf(answer: unknown, seenAt: string, last: Map<string, string>, place = ''): readonly string[] {
  if (!isObject(answer)) return [];
  const faults: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    if (name.startsWith('duration') && Number(value) < 0) faults.push(`${place}/${name} is ${String(value)}`);
    faults.push(...faultsOf(value, seenAt, last, `${place}/${name}`));
  }
  const { createdAtUtc, updatedAtUtc } = answer;
  const startedAt = answer['startedAt'] ?? answer['startedAtUtc'];
  const completedAt = answer['completedAt'] ?? answer['completedAtUtc'];
  if (typeof createdAtUtc === 'string' && typeof updatedAtUtc === 'string' && updatedAtUtc < createdAtUtc)
    faults.push(`${place}: was changed before it was created`);
  if (typeof startedAt === 'string' && typeof completedAt === 'string' && completedAt < startedAt)
    faults.push(`${place}: has ended before it began`);
  const updated = answer['updatedAt'] ?? updatedAtUtc;
  const { documentType, collection, container, partitionKey, key, id } = answer;
  const named = [documentType, collection, container, partitionKey, key, id].filter(
    (part) => part !== undefined,
  );
  if (typeof updated !== 'string' || named.length === 0) return faults;
  const record = JSON.stringify([seenAt, ...named]);
  if (updated < (last.get(record) ?? '')) faults.push(`${place}: ${record} went back to ${updated}`);
  last.set(record, updated);
  return faults;
}

/** Writes that replace what they wrote, and reads of it. */
const again = (round: number): readonly ScenarioStep[] => {
  const json = (name: string, method: ScenarioStep['method'], path: string, body?: object) => ({
    name,
    method,
    path,
    status: 0,
    ...(body === undefined ? {} : { body }),
  });
  const document = { tenantId: 'acme', documentType: 'claim', id: '9', schemaVersion: '1', data: { round } };
  return [
    json('document', 'POST', '/canonical/tenants/acme/transactions', {
      idempotencyKey: `again-${round}`,
      mutations: [{ document }],
    }),
    json('record', 'POST', '/collections/notes/records', {
      id: 'again',
      partitionKey: 'news',
      content: { round },
    }),
    json('object', 'PUT', '/objects/scans/again.txt', { round }),
    json('objects', 'GET', '/objects/scans'),
    json('start', 'POST', '/execution/runs', { handlerId: 'invoice.render', payload: { round } }),
    json('runs', 'GET', '/execution/runs?limit=100'),
    json('traces', 'GET', '/traces?limit=100'),
  ];
};

async function taken(service: RunningService, step: ScenarioStep, answers: Map<string, unknown>) {
  const body =
    typeof step.body === 'function' ? (step.body as (known: typeof answers) => unknown)(answers) : step.body;
  const first = await service.call({
    method: step.method,
    path: step.path,
    headers: step.headers ?? {},
    ...(body === undefined ? {} : { body }),
  });
  const { job } = step;
  if (first.status !== 202 || job === undefined) return [first];
  const path = job.replace('{id}', first.json<{ id: string }>().id);
  return [first, await service.ended({ method: 'GET', path })];
}

/** A worker whose leases may end at any moment: what it is answered, and what the runs say afterwards. */
async function attempts(service: RunningService) {
  let leases = 0;
  // A jump of an hour makes a request that waits for its turn look old: it is refused, and its client asks again.
  const call = async (request: Parameters<RunningService['call']>[0]) => {
    let answer = await service.call(request);
    for (let tries = 0; answer.status === 503 && tries < 20; tries += 1) answer = await service.call(request);
    return answer;
  };
  const post = async (what: string, body: object) => {
    const answer = await call({ method: 'POST', path: `/execution/${what}`, body });
    expect([200, 202, 204, 409], `${what}: ${answer.body}`).toContain(answer.status);
    return answer;
  };
  for (let round = 0; round < 12; round += 1) {
    const started = await post('runs', { handlerId: 'invoice.render', payload: { round } });
    const { id } = started.json<{ id: string }>();
    const asked = { workerId: 'w', handlerIds: ['invoice.render'], runId: id, ttlSeconds: 600 };
    const leased = await post('workers/leases', asked);
    if (leased.status === 200) {
      leases += 1;
      const { leaseKey, leaseToken } = leased.json<{ leaseKey: string; leaseToken: string }>();
      const proof = { leaseKey, leaseToken, workerId: 'w' };
      await post('workers/leases/checkpoints', { ...proof, checkpoint: { key: 'k', content: { round } } });
      await post('workers/leases/reports', { ...proof, update: { currentStep: 'a' } });
      await post('workers/leases/complete', { ...proof, result: { status: 'succeeded' } });
    }
    for (const path of [`/execution/runs/${id}`, `/execution/runs/${id}/history`]) {
      const { status, body } = await call({ method: 'GET', path });
      expect(status, body).toBe(200);
      expect(faultsOf(JSON.parse(body), path, new Map())).toEqual([]);
    }
  }
  expect(leases).toBeGreaterThan(3);
}

describe('with a clock that is set back', () => {
  const seeds = Array.from({ length: isNightly ? 12 : 2 }, (_, at) => at + 1);
  test.each(seeds)('no moment of a record goes back, and no answer fails (seed %i)', async (seed) => {
    const jumping = new JumpingWorld(seed);
    const service = await startService({ world: jumping.world });
    await service.start();
    try {
      const answers = new Map<string, unknown>();
      const last = new Map<string, string>();
      const take = async (steps: readonly ScenarioStep[]) => {
        for (const step of steps) {
          for (const { status, body } of await taken(service, step, answers)) {
            expect(status, `${step.name}: ${body.slice(0, 400)}`).not.toBe(500);
            const json = body.startsWith('{') || body.startsWith('[') ? (JSON.parse(body) as unknown) : null;
            answers.set(step.name, json);
            expect(faultsOf(json, step.path, last), step.name).toEqual([]);
          }
        }
      };
      await take(STEPS);
      jumping.jumpsMs = HOURS_MS;
      for (let round = 0; round < 12; round += 1) await take(again(round));
      await attempts(service);
      expect(jumping.backwards).toBeGreaterThan(20);
      expect(last.size).toBeGreaterThan(5);
    } finally {
      await service.close();
    }
  });
});
