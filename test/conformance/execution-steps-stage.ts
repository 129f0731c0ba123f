import type { Json } from '../../functions/kernel/canonical-json.ts';
import type { PluginHandler } from '../../functions/runs/plugin.ts';
import { isTerminal } from '../../functions/runs/run.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { defineHandler, type Steps } from '../../sdk/typescript/src/worker/index.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { Stage } from './execution-stage.ts';

type Start = Partial<Parameters<ExecutionClient['start']>[0]>;
type Work = (steps: Steps, payload: Json) => unknown;

/** Handlers with steps that the process executes, and the effects of their steps. */
export class StepsStage extends Stage {
  readonly effects: string[] = [];
  /** Events that are raised some time after a run waits for their name. */
  readonly replies = new Map<string, { readonly afterMs: number; readonly payload: Json }>();

  /** Handlers of a plugin, made anew as after a start of the process. */
  plugin(works: Readonly<Record<string, Work>>) {
    return {
      pluginId: 'steps.plugin',
      name: 'Steps',
      version: '1.0.0',
      handlers: Object.entries(works).map(([id, run]): PluginHandler => defineHandler({ id, run })),
    };
  }

  readonly effect = ({ idempotencyKey }: { readonly idempotencyKey: string }): void => {
    const key = idempotencyKey.slice(idempotencyKey.indexOf('/') + 1);
    this.effects.push(key);
  };

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.timers.after(ms, resolve));
  }

  /** Lets time pass from moment to moment until the run has ended. */
  async drive(client: ExecutionClient, runId: string) {
    for (let turn = 0; turn < 200; turn += 1) {
      await this.quiet();
      const run = await client.get(runId);
      if (isTerminal(run.status)) return run;
      const step = run.currentStep ?? '';
      const reply = this.replies.get(step.replace('waiting:external_event:', ''));
      if (run.status === 'waiting' && step.startsWith('waiting:external_event:') && reply !== undefined) {
        await this.pass(reply.afterMs);
        const name = step.replace('waiting:external_event:', '');
        this.replies.delete(name);
        await client.raise(runId, { name, payload: reply.payload });
      } else if (run.status === 'waiting' && run.scheduledAtUtc !== null)
        await this.pass(Math.max(Date.parse(run.scheduledAtUtc) - this.time.now, 0));
      else await this.pass(Math.max((this.time.nextAt ?? this.time.now) - this.time.now, 0));
      await this.settle(client.instance);
    }
    throw new Error(`the run ${runId} does not end: ${JSON.stringify(await client.get(runId))}`);
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
