import type { RegisteredProvider } from '../../functions/providers/registered.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import type { Stage } from '../conformance/execution-stage.ts';
import { DIMENSIONS, RetrievalStage } from '../conformance/retrieval-stage.ts';
import { EmbeddingsStage } from './embeddings-stage.ts';
import { FailingProvider } from './failing-provider.ts';
import { HELLO, ProvidersStage } from './providers-stage.ts';
import { RagStage, SHAPE, sentences } from './rag-stage.ts';
import { RetrievalJobsStage } from './retrieval-jobs-stage.ts';

/** A case takes more turns of the event loop than a pass of the stage waits for: no lease ends meanwhile. */
const LEASE_MS = 100 * 60_000;

interface JobState {
  readonly status: string;
  readonly failureClass: string | null;
  readonly isOver: boolean;
}

/** One job of a kind, with the provider that it calls. */
export interface PatientJob {
  readonly stage: Stage;
  readonly provider: FailingProvider;
  /** Answers of the provider that the whole job needs. */
  readonly answers: number;
  readonly start: () => Promise<void>;
  readonly state: () => Promise<JobState>;
  readonly stop: () => Promise<void>;
}

type Begin = (store: RecordStore) => Promise<PatientJob>;

/** The jobs that call a provider, by their handlers. */
export const patientJobs: Readonly<Record<string, Begin>> = {
  'svc.embedding.batch': (store) => {
    const stage = new EmbeddingsStage(store);
    const provider = new FailingProvider(stage);
    const service = stage.embeddings({ embedder: provider.embedder(4) });
    const texts = ['one', 'two', 'three', 'four'];
    return Promise.resolve(jobOf(stage, provider, service, texts.length, () => service.start({ texts })));
  },
  'svc.rag.ingestion.text': (store) =>
    ragJob(store, { text: sentences(0, 4), documentId: 'd', options: SHAPE }, 4),
  'svc.rag.ingestion.batch': (store) =>
    ragJob(
      store,
      [0, 1].map((at) => ({ text: sentences(at * 2, 2), documentId: `d${at}`, options: SHAPE })),
      4,
    ),
  'svc.retrieval.evaluation.run': (store) => retrievalJob(store, {}),
  'svc.retrieval.evaluation.compare': (store) =>
    retrievalJob(store, { variants: [{ id: 'plain', retrieval: {} }] }),
  'svc.provider.run': (store) => {
    const stage = new ProvidersStage(store);
    const provider = new FailingProvider(stage);
    const paid: RegisteredProvider = provider.chat(stage);
    const service = stage.providers({ providers: [paid], leaseMs: LEASE_MS });
    const start = () => service.start(HELLO, { provider: paid.target.id });
    let id = '';
    return Promise.resolve({
      stage,
      provider,
      answers: 1,
      async start() {
        ({ id } = await start());
        await service.engine.start();
      },
      async state() {
        const { status, failureClass, completedAt } = await service.get(id);
        return { status: status.toLowerCase(), failureClass, isOver: completedAt !== null };
      },
      stop: () => service.engine.stop(),
    });
  },
};

interface Service {
  readonly engine: { readonly start: () => Promise<void>; readonly stop: () => Promise<void> };
  readonly get: (id: string) => Promise<{ readonly status: string; readonly failureClass: string | null }>;
}

function jobOf(
  stage: Stage,
  provider: FailingProvider,
  service: Service,
  answers: number,
  begin: () => Promise<{ readonly id: string }>,
): PatientJob {
  let id = '';
  return {
    stage,
    provider,
    answers,
    async start() {
      ({ id } = await begin());
      await service.engine.start();
    },
    async state() {
      const { status, failureClass } = await service.get(id);
      return { status, failureClass, isOver: status !== 'queued' && status !== 'running' };
    },
    stop: () => service.engine.stop(),
  };
}

async function ragJob(store: RecordStore, given: object | readonly object[], answers: number) {
  const stage = await new RagStage(store).begin();
  const provider = new FailingProvider(stage);
  const service = stage.rag({ embedder: provider.embedder(8), leaseMs: LEASE_MS });
  return jobOf(stage, provider, service, answers, () => service.start(given));
}

async function retrievalJob(store: RecordStore, more: object): Promise<PatientJob> {
  const stage = new RetrievalJobsStage(store);
  await stage.furnish();
  const provider = new FailingProvider(stage);
  const embedder = provider.embedder(DIMENSIONS, 'local-token-hash');
  const { parts } = new RetrievalStage(stage.store, { embedder, space: stage.space });
  // The job waits by the clock of its run.
  const records = { ...parts.records, world: stage.world };
  const service = stage.jobs({ leaseMs: LEASE_MS, parts: { ...parts, records } });
  const cases = Array.from({ length: 4 }, (_, n) => ({
    request: { query: `fox ${n}`, collections: ['notes'], searchMode: 'vector' as const },
    expected: [{ id: 'fox' }],
  }));
  return jobOf(stage, provider, service, cases.length, () => service.start({ cases, ...more }));
}
