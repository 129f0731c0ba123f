import { randomUUID } from 'node:crypto';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { OBJECT_LEFTOVERS, OBJECTS, spaceScope } from '../../functions/collections/store-collections.ts';
import { objectSpaceKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { artifactJobs } from '../../functions/groups/artifacts/artifact-jobs.ts';
import { ingestRecordArtifact } from '../../functions/groups/artifacts/ingest-artifact.ts';
import { objectJobs } from '../../functions/groups/objects/object-jobs.ts';
import { byteBody } from '../../functions/http/byte-stream.ts';
import { createRecordAccess } from '../../functions/identity/record-access.ts';
import { sweepObjects } from '../../functions/objects/sweep-objects.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { Stage } from '../conformance/execution-stage.ts';
import { HOUR_MS, largeBytes, ObjectsStage, once } from '../conformance/objects-stage.ts';
import { type Death, LIVE } from '../support/dying-store.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { type MortalCall, MortalProcess } from '../support/mortal-process.ts';
import { MemoryBlobs, type MemoryPlace } from './memory-blobs.ts';
import type { ObjectsFlaw } from './objects-faults.ts';
import { Violation } from './objects-faults.ts';

/**
 * An artifact whose process dies at one call of its stores: in the request that stages the bytes and admits the run, in the execution of the
 * run, or in the upkeep. Real admission, real engine, real upkeep. In the end object and record are there, or neither is, each once, and
 * nothing lies without an object.
 */
export interface IngestCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** The next step of a caller that got no answer. */
  readonly caller: 'repeats' | 'repeats after upkeep' | 'gives up';
  /** Bytes that the key of the object holds before. */
  readonly before: Buffer | null;
  /** Whose calls are counted and fail. */
  readonly dies: 'request and run' | 'upkeep';
}

const [small, large] = [Buffer.alloc(10, 1), largeBytes(1)];
const CALLERS = ['repeats', 'repeats after upkeep', 'gives up'] as const;

export const INGEST_CASES: readonly IngestCase[] = [
  ...[small, large].flatMap((bytes) =>
    CALLERS.map((caller) => ({ bytes, caller, before: null, dies: 'request and run' as const })),
  ),
  { bytes: large, caller: 'repeats' as const, before: large, dies: 'request and run' as const },
  { bytes: large, caller: 'gives up' as const, before: largeBytes(2), dies: 'request and run' as const },
  { bytes: large, caller: 'gives up' as const, before: large, dies: 'upkeep' as const },
  { bytes: large, caller: 'gives up' as const, before: largeBytes(2), dies: 'upkeep' as const },
].map((each) => ({ ...each, name: nameOf(each) }));

function nameOf({ bytes, caller, before, dies }: Omit<IngestCase, 'name'>): string {
  const state = before === null ? 'no' : before.equals(bytes) ? 'the same' : 'another';
  return `${bytes.length} bytes over ${state} object, ${dies} dies, the caller ${caller}`;
}

const KEY = { container: 'files', key: 'a' };
const RECORD = { id: 'a', partitionKey: 'p' };

/** Runs the case under the death, and answers the calls of the process that could die. Throws a `Violation`. */
async function runIngest(
  store: RecordStore,
  given: IngestCase,
  death: Deaths,
  flaw: ObjectsFlaw | null = null,
): Promise<readonly MortalCall[]> {
  const run = new IngestRun(store, given, flaw);
  return run.run(death);
}

/** The call at which the process dies, and at which the next one does, which repeats the request. */
interface Deaths extends Death {
  readonly next?: Death;
}

class IngestRun {
  readonly #case: IngestCase;
  readonly #flaw: ObjectsFlaw | null;
  readonly #stage: Stage;
  readonly #space = `space ${randomUUID()}`;
  readonly #place: MemoryPlace = new Map();
  readonly #idempotencyKey = randomUUID();
  #instances = 0;

  constructor(store: RecordStore, given: IngestCase, flaw: ObjectsFlaw | null) {
    this.#case = given;
    this.#flaw = flaw;
    this.#stage = new Stage(store);
  }

  async run({ next, ...death }: Deaths): Promise<readonly MortalCall[]> {
    const { bytes, before, caller, dies } = this.#case;
    const setup = this.#objects();
    await createCollection(setup.parts.records, this.#space, readPolicy({ name: 'notes' }));
    if (before !== null) await setup.put(KEY.key, before);
    const mortal = new MortalProcess(death);
    const first = this.instance(dies === 'request and run' ? mortal : null);
    const acknowledged = await this.#whileAlive(mortal, first.ingest());
    if (acknowledged !== null) await this.#whileAlive(mortal, first.execute(acknowledged));
    await this.#stage.quiet();
    const another = next === undefined ? null : await this.#repeatedBy(new MortalProcess(next));
    const second = this.instance(null);
    if (dies === 'upkeep') await this.#upkeep(this.instance(mortal), mortal);
    if (caller === 'repeats after upkeep') await this.#upkeep(second);
    const repeated = caller === 'gives up' ? null : await second.ingest();
    await this.#ended(second);
    for (let times = 0; times < 3; times += 1) await this.#upkeep(second);
    const isPromised = acknowledged !== null || repeated !== null;
    await this.#check(second, bytes, isPromised);
    return another?.calls ?? mortal.calls;
  }

  /** By a process that dies too, once the leases of the first one are over. */
  async #repeatedBy(mortal: MortalProcess): Promise<MortalProcess> {
    const instance = this.instance(mortal);
    this.#stage.time.advance(120_000);
    const runId = await this.#whileAlive(mortal, instance.ingest());
    if (runId !== null) {
      await this.#whileAlive(mortal, this.#stage.settle(instance.engine));
      await this.#whileAlive(mortal, instance.execute(runId));
    }
    await this.#stage.quiet();
    return mortal;
  }

  async #whileAlive<R>(mortal: MortalProcess, work: Promise<R>): Promise<R | null> {
    return Promise.race([work, mortal.died.then(() => null)]);
  }

  #objects(
    store: RecordStore = this.#stage.store,
    blobs: BlobStore = new MemoryBlobs(this.#place),
  ): ObjectsStage {
    return new ObjectsStage(store, blobs, { space: this.#space, world: this.#stage.time });
  }

  instance(mortal: MortalProcess | null) {
    const wrapped = this.#flaw?.store?.(this.#stage.store) ?? this.#stage.store;
    const memory = new MemoryBlobs(this.#place);
    const flawed = this.#flaw?.blobs?.(memory) ?? memory;
    const store = mortal?.store(wrapped) ?? wrapped;
    const { parts } = this.#objects(store, mortal?.blobs(flawed) ?? flawed);
    const operations = ['read', 'write', 'delete', 'maintain'] as const;
    const access = createRecordAccess({
      grants: [{ principal: 'ada', space: this.#space, productId: null, operations }],
    });
    const plugin = artifactJobs(parts, access);
    this.#instances += 1;
    const engine = this.#engine(store, plugin);
    const externalContext = { verify: null, isRequired: false };
    const handle = ingestRecordArtifact({
      objects: parts,
      access,
      plugin,
      externalContext,
      jobs: engine.jobs,
      executionAccess: null,
    });
    return {
      engine,
      client: new ExecutionClient(engine),
      ingest: () => this.#ingest(handle),
      execute: async (runId: string) => void (await engine.engine.deliver(runId)),
      upkeep: async () => {
        if (this.#flaw?.forgetsRuns !== true)
          return objectJobs(parts).maintain?.({ runtime: engine.runtime, isOver: () => false });
        const isRunActive = () => Promise.resolve(false);
        return sweepObjects(parts, { isOver: () => false, isRunActive });
      },
    };
  }

  #engine(store: RecordStore, plugin: ReturnType<typeof artifactJobs>) {
    const { world, scope } = this.#stage;
    return executionInstance(store, {
      world,
      scope,
      node: this.#instances,
      leaseMs: 8_000,
      jobs: [plugin],
    });
  }

  async #ingest(handle: ReturnType<typeof ingestRecordArtifact>): Promise<string> {
    const manifest = { collection: 'notes', record: RECORD, artifact: KEY };
    const artifact = byteBody(once(this.#case.bytes), { mediaType: 'text/plain' });
    const caller = { kind: 'workload', principal: 'ada' } as const;
    const { signal } = new AbortController();
    const { body } = await handle(
      {
        params: {},
        query: {},
        body: { manifest, artifact },
        text: () => JSON.stringify({ manifest }),
        idempotencyKey: this.#idempotencyKey,
      },
      { caller, correlationId: 'test', now: this.#stage.time.now, signal },
    );
    return body.id;
  }

  /** Executes what was admitted, by an instance that lives, once the leases of the dead one are over. */
  async #ended({ engine, client, execute }: ReturnType<IngestRun['instance']>): Promise<void> {
    for (let turn = 0; turn < 12; turn += 1) {
      this.#stage.time.advance(120_000);
      await this.#stage.settle(engine);
      const runs = await client.list({ limit: 200 });
      const open = runs.filter(({ status }) => ['queued', 'running', 'waiting'].includes(status));
      if (open.length === 0) return;
      for (const { id } of open) await execute(id);
      // An execution goes on behind its delivery.
      await this.#stage.quiet();
    }
    throw new Violation('a run does not end');
  }

  /** Hours later. A process that dies leaves the rest to the next upkeep. */
  async #upkeep(instance: ReturnType<IngestRun['instance']>, mortal?: MortalProcess): Promise<void> {
    for (let times = 0; times < 2; times += 1) {
      this.#stage.time.advance(2 * HOUR_MS);
      const work = instance.upkeep();
      await (mortal === undefined ? work : this.#whileAlive(mortal, work));
    }
  }

  async #check(
    { client }: ReturnType<IngestRun['instance']>,
    bytes: Buffer,
    isPromised: boolean,
  ): Promise<void> {
    const { before } = this.#case;
    const objects = this.#objects();
    const found = await objects.get(KEY.key).catch((error: unknown) => {
      throw new Violation(`the object cannot be read: ${String(error)}`);
    });
    const record = await getRecord(objects.parts.records, this.#space, 'notes', RECORD);
    const runs = await client.list({ limit: 200 });
    const isTaken = before !== null && !before.equals(bytes);
    const expected = runs.length === 0 || isTaken ? before : bytes;
    if (runs.length > 1) throw new Violation('one request has two runs');
    if (isPromised && runs.length === 0) throw new Violation('what was acknowledged is lost');
    if (runs[0] !== undefined && (runs[0].status === 'succeeded') === isTaken)
      throw new Violation(`the run ended as ${runs[0].status}: ${runs[0].failureClass} ${runs[0].error}`);
    if (found === null ? expected !== null : expected?.equals(found) !== true)
      throw new Violation('the object holds other bytes');
    if ((record !== null) !== (runs.length > 0 && !isTaken))
      throw new Violation('object and record are not there together');
    if (record !== null && record.etag !== 'rev:1') throw new Violation('the record was written twice');
    await this.#checkLeftovers(found !== null);
  }

  async #checkLeftovers(hasObject: boolean): Promise<void> {
    const { store } = this.#stage;
    const scope = spaceScope(this.#space);
    const list = async (collection: typeof OBJECTS, group: string) =>
      (await store.query(scope, { by: 'list', collection, group, limit: 50 })).records;
    const heads = await list(OBJECTS, KEY.container);
    const named = heads.filter(({ head }) => typeof head['reference'] === 'string').length;
    if (heads.length !== Number(hasObject)) throw new Violation('the head of an object is gone');
    if (this.#place.size !== named) throw new Violation('bytes lie without an object');
    if ((await list(OBJECT_LEFTOVERS, 'leftover')).length > 0) throw new Violation('a leftover stays');
    const keys = [{ key: objectSpaceKey(this.#space) }];
    const marks = (await store.query(UPKEEP_SCOPE, { by: 'keys', keys })).records;
    if (marks.length > 0) throw new Violation('a mark stays');
  }
}

/** The phase of a call: between which of them a process died. */
function phaseOf({ verb, collections }: MortalCall): string {
  if (verb.startsWith('blob')) return verb;
  if (collections.includes(OBJECTS.name)) return 'commit';
  if (collections.includes(OBJECT_LEFTOVERS.name)) return 'intent';
  if (collections.includes('admissions')) return 'admission';
  return verb === 'transact' ? 'run' : verb;
}

/** The case with a process that lives, then with one that dies at each of its calls; answers the phases in which it died. */
export async function killedAtEveryCall(
  open: () => RecordStore,
  given: IngestCase,
  flaw: ObjectsFlaw | null = null,
): Promise<string[]> {
  const phases: string[] = [];
  const calls = await runIngest(open(), given, LIVE, flaw);
  for (const [index, call] of calls.entries()) {
    for (const after of [false, true]) {
      await runIngest(open(), given, { at: index + 1, after }, flaw).catch((error: unknown) => {
        const when = `${given.name}: dead ${after ? 'after' : 'before'} call ${index + 1} (${phaseOf(call)})`;
        throw error instanceof Violation ? new Violation(`${when}: ${error.message}`) : error;
      });
      phases.push(phaseOf(call));
    }
  }
  return phases;
}

/** As above, with a first process that dies after its `at`th call, and a second one that dies at each of its own. */
export async function killedTwice(open: () => RecordStore, given: IngestCase): Promise<string[]> {
  const phases: string[] = [];
  const first = await runIngest(open(), given, LIVE);
  for (let at = 1; at <= first.length; at += 1) {
    const death = { at, after: true };
    const calls = await runIngest(open(), given, { ...death, next: LIVE });
    for (const [index, call] of calls.entries()) {
      await runIngest(open(), given, { ...death, next: { at: index + 1, after: true } }).catch(
        (error: unknown) => {
          const when = `${given.name}: dead after calls ${at} and ${index + 1} (${phaseOf(call)})`;
          throw error instanceof Violation ? new Violation(`${when}: ${error.message}`) : error;
        },
      );
      phases.push(phaseOf(call));
    }
  }
  return phases;
}
