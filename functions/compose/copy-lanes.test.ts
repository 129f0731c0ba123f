import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { readAnswer } from '../../test/support/written-answer.ts';
import { loadConfiguration } from '../config/load.ts';
import type { CallContext } from '../http/handler.ts';
import type { HandlerMap } from '../http/options.ts';
import { CopyGate } from '../kernel/copy-gate.ts';
import { ServiceError } from '../kernel/errors.ts';
import { compose } from './compose.ts';
import { inCopyLanes } from './copy-lanes.ts';

const entries = Object.values(operations);
const COPIES = [
  'exportCanonicalTenant',
  'restoreCanonicalTenant',
  'exportCollectionBounded',
  'inspectCollection',
  'exportGraphEnvelope',
  'inspectGraphCollection',
  'doctorGraphCollection',
  'exportTraces',
];

function contextOf(principal: string): CallContext {
  const caller = { kind: 'workload' as const, principal };
  return { caller, correlationId: 'test', now: 0, signal: new AbortController().signal };
}

/** The input of an operation of one tenant, whichever way it names the tenant. */
const inputOf = (tenantId: string, path: string) =>
  ({ params: path.includes('{tenantId}') ? { tenantId } : {} }) as never;
const pathOf = ({ routes }: (typeof entries)[number]) =>
  (routes[0]?.segments ?? []).map((one) => ('literal' in one ? one.literal : `{${one.param}}`)).join('/');

afterEach(() => {
  vi.restoreAllMocks();
});

test('calls over a whole tenant, space or graph work one by one for each tenant, and no other call waits', async () => {
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const handlers: HandlerMap = Object.fromEntries(
    entries.map(({ id }) => [
      id,
      async (_: never, { caller }: CallContext) => {
        begun.push(`${id} ${caller.principal}`);
        await held.promise;
        return { status: 200, body: null };
      },
    ]),
  );
  const calls: Promise<unknown>[] = [];
  for (const entry of entries) {
    const lanes = { gate: new CopyGate(), spaceOf: ({ principal }: CallContext['caller']) => `${principal}` };
    const call = inCopyLanes(handlers, entries, lanes)[entry.id];
    if (call === undefined) throw new Error(`${entry.id} has no handler`);
    for (const tenant of ['busy', 'busy', 'other'])
      calls.push(call(inputOf(tenant, pathOf(entry)), contextOf(tenant)));
    const ofBusy = begun.splice(0).filter((each) => each === `${entry.id} busy`);
    expect([entry.id, ofBusy.length]).toEqual([entry.id, COPIES.includes(entry.id) ? 1 : 2]);
  }
  held.resolve();
  await Promise.all(calls);
});

test('all groups of a process share one gate, also over a chain of their own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-copies-'));
  const argv = [`--Server:DataDirectory=${folder}`];
  const { settings } = loadConfiguration({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  if (settings === undefined) throw new Error('the settings have faults');
  const service = compose(settings, { writeLog: () => undefined });
  try {
    const caller = { kind: 'development' as const, principal: null };
    const calls = await Promise.all([service.call(service.groups), service.call(service.groups)]);
    const tenant = { params: { tenantId: 'acme' } };
    const { body: snapshot } = await calls[0]('exportCanonicalTenant', tenant, caller);
    const bodies: Readonly<Record<string, unknown>> = {
      exportCanonicalTenant: undefined,
      inspectCollection: undefined,
      restoreCanonicalTenant: { snapshot: readAnswer(snapshot) },
    };
    const gates = new Set<unknown>();
    const asked: string[] = [];
    vi.spyOn(CopyGate.prototype, 'run').mockImplementation(function (this: CopyGate, tenantId) {
      gates.add(this);
      asked.push(tenantId);
      return Promise.reject(new ServiceError('unavailable', 'no work'));
    });
    for (const call of calls)
      for (const id of COPIES) {
        const body = id in bodies ? bodies[id] : {};
        const path = pathOf(operations[id as keyof typeof operations]);
        const params = path.includes('{collection}') ? { collection: 'notes' } : {};
        const own = path.includes('{tenantId}') ? tenant : { params };
        await expect(call(id, { ...own, body }, caller)).rejects.toMatchObject({ message: 'no work' });
      }
    expect(gates.size).toBe(1);
    const each = ['acme', 'acme', ...Array<string>(6).fill('default')];
    expect(asked).toEqual([...each, ...each]);
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
