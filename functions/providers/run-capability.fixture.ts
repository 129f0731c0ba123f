import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { openAiModel } from './live/openai-model.ts';
import {
  json,
  type ModelServer,
  ModelWorld,
  type Reply,
  startModelServer,
} from './outgoing/model-server.fixture.ts';
import { providerGuard } from './provider-guard.ts';
import { readQuotas } from './read-quotas.ts';
import type { RegisteredProvider } from './registered.ts';
import { RUN_LIMITS } from './rules/run-limits.ts';
import type { RunRequest } from './rules/run-request.ts';
import type { ProviderTrace } from './rules/run-result.ts';
import { localTargets, type ProviderTarget } from './rules/target.ts';
import type { CapabilityParts, CapabilityRun } from './run-capability.ts';

export const KEY = 'sk-canary-4711';
export const CONTENT = 'secret-content-4712';
export const [ai, reranker] = localTargets as [ProviderTarget, ProviderTarget];
export const local: RegisteredProvider = { target: ai, live: null };
const remoteTarget: ProviderTarget = {
  ...ai,
  id: 'mine',
  kind: 'openai-compatible',
  isLocal: false,
  auth: 'api-key',
  modelId: 'small',
};

const ample = { callsPerMinute: null, tokensPerDayMax: 5_000_000, spaceSharePercent: 100 };

/** The server of the current test; `null` without one. */
export let server: ModelServer | null = null;

export async function closeServer(): Promise<void> {
  await server?.close();
  server = null;
}

const apiKey = () => Promise.resolve(KEY);

/** A service with its own database. A second instance has the same database. */
export class Instance {
  readonly traces: (ProviderTrace & { readonly space: string })[] = [];
  readonly world = new ModelWorld();
  readonly database: MemoryDatabase;
  readonly parts: CapabilityParts;

  constructor(database = new MemoryDatabase()) {
    this.database = database;
    const store = new MemoryStore(database);
    this.parts = {
      world: this.world,
      store: () => Promise.resolve(store),
      limits: RUN_LIMITS,
      concurrentInAll: 2,
      writeTrace: (space, trace) => {
        this.traces.push({ space, ...trace });
        return Promise.resolve();
      },
    };
  }

  /** The tokens that the provider `mine` has used today. */
  async tokensOfDay(): Promise<number | undefined> {
    const now = this.world.clock.now();
    const [spent] = await readQuotas(this.parts.store, [{ id: 'mine', limits: ample }], { space: 'a', now });
    return spent?.tokensOfDay?.used;
  }

  async remote(...replies: readonly Reply[]): Promise<RegisteredProvider> {
    server = await startModelServer(...replies);
    const { store } = this.parts;
    const baseAddress = `http://127.0.0.1:${server.port}/v1`;
    return {
      target: remoteTarget,
      live: {
        model: openAiModel(this.world, { baseAddress, modelId: 'small', outputTokensMax: 64, apiKey }),
        guard: providerGuard({ store, clock: this.world.clock, provider: 'mine', limits: ample }),
        prices: { input: 2, output: 8 },
        outputTokensMax: 64,
      },
    };
  }
}

let runs = 0;

export const newTraceId = () => `trace-${(runs += 1)}`;

export function runOf(request: Partial<RunRequest> = {}, more: Partial<CapabilityRun> = {}): CapabilityRun {
  runs += 1;
  const payload = { messages: [{ role: 'user', content: CONTENT }] };
  return {
    request: { capability: 'ai.chat', payload, ...request },
    space: 'a',
    id: `run-${runs}`,
    isJob: true,
    traceId: `trace-${runs}`,
    correlationId: 'c',
    signal: new AbortController().signal,
    memory: null,
    ...more,
  };
}

export const completion = (content: string): Reply =>
  json({
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 500, completion_tokens: 250 },
  });
