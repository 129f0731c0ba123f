import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import type { Plugin } from '../../functions/runs/plugin.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { ExecutionClient, type ExecutionInstance, executionInstance } from '../support/execution.ts';

/** Handlers that are executed in the process of the service. */
export type BenchHandlers = Plugin['handlers'];

const HOUR_MS = 3_600_000;

/** The execution runtime in this process, over a database of its own, with the options of the embedded server. */
export class BenchRuntime {
  readonly client: ExecutionClient;
  readonly instance: ExecutionInstance;
  readonly store: RecordStore;
  readonly #folder: string;

  private constructor(instance: ExecutionInstance, store: RecordStore, folder: string) {
    this.instance = instance;
    this.client = new ExecutionClient(instance);
    this.store = store;
    this.#folder = folder;
  }

  static async open(handlers: BenchHandlers): Promise<BenchRuntime> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-execution-'));
    const path = join(folder, 'svc.sqlite');
    const store = await openSqliteStore({
      path,
      ...machine,
      grouping: true,
      collections: executionCollections,
    });
    const plugins = [{ pluginId: 'bench', name: 'Bench', version: '1', handlers }];
    // No other process writes here, which the embedded server would find out by the size of the log.
    const instance = executionInstance(store, { plugins, recheckMs: HOUR_MS });
    await instance.start();
    return new BenchRuntime(instance, store, folder);
  }

  /** Starts a run and gives its id. */
  async start(handlerId: string, payload: Parameters<ExecutionClient['start']>[0]['payload'] = { n: 1 }) {
    return (await this.client.start({ handlerId, payload })).id;
  }

  /** Waits for the end of the run. */
  async ended(runId: string): Promise<void> {
    const { status } = await this.client.get(runId, { waitSeconds: 20 });
    if (status !== 'succeeded') throw new Error(`the run is ${status}`);
  }

  /** A run from its start to its durable result. */
  async run(handlerId: string): Promise<void> {
    await this.ended(await this.start(handlerId));
  }

  async close(): Promise<void> {
    await this.instance.stop();
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export const echo: BenchHandlers[number] = { handlerId: 'echo', run: ({ payload }) => payload };
