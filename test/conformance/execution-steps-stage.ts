import type { Json } from '../../functions/kernel/canonical-json.ts';
import type { PluginHandler } from '../../functions/runs/plugin.ts';
import { isTerminal } from '../../functions/runs/run.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { defineHandler, type Steps } from '../../sdk/typescript/src/worker/index.ts';
import type { Program } from '../../sdk/typescript/test/steps-program.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { Stage } from './execution-stage.ts';

type Start = Partial<Parameters<ExecutionClient['start']>[0]>;
type Run = (steps: Steps, payload: Json) => unknown;
type Work = Run | { readonly id: string; readonly version?: string; readonly run: unknown };

/** Handlers with steps that the process executes, and the effects of their steps. */
export class StepsStage extends Stage {
  readonly effects: string[] = [];
  readonly #draws: Uint8Array[] = [];
  /** Events that are raised some time after a run waits for their name. */
  readonly replies = new Map<string, { readonly afterMs: number; readonly payload: Json }>();

  constructor(store: RecordStore) {
    super(store);
    const { random } = this.world;
    // Ids and tokens have other sizes.
    const drawn = (size: number) => (size === 16 || size === 4 ? this.#draws.shift() : undefined);
    Object.assign(this.world, { random: { bytes: (size: number) => drawn(size) ?? random.bytes(size) } });
  }

  /** Handlers of a plugin, made anew as after a start of the process. */
  plugin(works: Readonly<Record<string, Work>>) {
    return {
      pluginId: 'steps.plugin',
      name: 'Steps',
      version: '1.0.0',
      handlers: Object.entries(works).map(
        ([id, work]): PluginHandler =>
          typeof work === 'function'
            ? defineHandler({ id, run: work })
            : defineHandler(work as { id: string; run: Run }),
      ),
    };
  }

  readonly effect = ({ idempotencyKey }: { readonly idempotencyKey: string }): void => {
    const key = idempotencyKey.slice(idempotencyKey.indexOf('/') + 1);
    this.effects.push(key);
  };

  /** Answers the waits of a program, and draws what it names. */
  play({ ops }: Program): void {
    for (const { op, name, afterMs, payload, gives } of ops) {
      if (op === 'event' && afterMs !== undefined && payload !== undefined)
        this.replies.set(String(name), { afterMs, payload });
      if (op === 'uuid') this.#draws.push(Buffer.from(JSON.stringify(gives).replaceAll(/[-"]/g, ''), 'hex'));
      if (op === 'random') this.#draws.push(Buffer.from([Number(gives) * 256, 0, 0, 0]));
    }
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.timers.after(ms, resolve));
  }

  /** Lets time pass from moment to moment until the run has ended. */
  async drive(client: ExecutionClient | (() => ExecutionClient), runId: string) {
    const clientNow = typeof client === 'function' ? client : () => client;
    for (let turn = 0; turn < 300; turn += 1) {
      await this.quiet();
      const now = clientNow();
      try {
        const run = await now.get(runId);
        if (isTerminal(run.status)) return run;
        await this.#goOn(now, run);
        await this.settle(now.instance);
        // Another process may have queued the run.
        now.instance.engine.wake();
      } catch (error) {
        // The process has died in between.
        if (clientNow() === now) throw error;
      }
    }
    throw new Error(`the run ${runId} does not end: ${JSON.stringify(await clientNow().get(runId))}`);
  }

  async #goOn(client: ExecutionClient, run: Awaited<ReturnType<ExecutionClient['get']>>): Promise<void> {
    const { id, status, currentStep } = run;
    const name = /^waiting:external_event:(.*)/.exec(currentStep ?? '')?.[1] ?? '';
    const reply = this.replies.get(name);
    if (status === 'waiting' && reply !== undefined) {
      await this.pass(reply.afterMs);
      await client.raise(id, { name, payload: reply.payload });
      this.replies.delete(name);
      return;
    }
    // The run may wait for a child, and the child for a moment.
    const waiting = status === 'waiting' ? [run, ...(await client.list({ status }))] : [];
    const due = waiting.flatMap(({ scheduledAtUtc: at }) => (at === null ? [] : [Date.parse(at)]));
    const next = due.length > 0 ? Math.min(...due) : (this.time.nextAt ?? this.time.now + 1_000);
    await this.pass(Math.max(next - this.time.now, 0));
  }

  async driven(client: ExecutionClient, handlerId: string, body: Start = {}) {
    const { id } = await client.start({ handlerId, ...body });
    return this.drive(client, id);
  }

  /** The texts of the segments of the journal. */
  async segments(client: ExecutionClient, runId: string): Promise<string[]> {
    const texts: string[] = [];
    for (const number of [0, 1]) {
      const found = await client.checkpoint(runId, `svc.steps.${number}`).catch(() => null);
      if (found !== null) texts.push(JSON.stringify(found.content));
    }
    return texts;
  }
}

/** A store whose process dies at a transaction: that call and all later ones fail. */
export function dyingStore(store: RecordStore, diesAt: number, when: 'before' | 'after') {
  const state = { calls: 0, isDead: false };
  const dead = () => new Error('the process is dead');
  const alive = <R>(call: () => Promise<R>): Promise<R> => (state.isDead ? Promise.reject(dead()) : call());
  const query = (...given: Parameters<RecordStore['query']>) => alive(() => store.query(...given));
  return {
    state,
    store: patched(store, {
      async transact(...given) {
        state.calls += 1;
        if (state.calls === diesAt && when === 'before') state.isDead = true;
        const answer = await alive(() => store.transact(...given));
        if (state.calls !== diesAt) return answer;
        state.isDead = true;
        throw dead();
      },
      query: query as RecordStore['query'],
      claim: (...given) => alive(() => store.claim(...given)),
    }),
  };
}
