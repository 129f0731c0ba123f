import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';

/** The state of a tenant before an attack: its runs in every state, and everything that belongs to them. */

/** The handler of the examples; the services under attack let workers outside execute it. */
export const HANDLER = 'invoice.render';

/** Longer than any test, so that no lease ends during an attack. */
const TTL_SECONDS = 86_400;

export interface Owner {
  readonly productId: string;
  readonly tenantId: string;
  readonly workerId: string;
  /** Stands in all content. */
  readonly mark: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The proof that a worker gives with every call. */
export interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** The runs of one owner, by their state. */
export interface Runs {
  readonly ids: {
    readonly queued: string;
    readonly held: string;
    readonly parked: string;
    readonly ended: string;
  };
  /** The proof of the lease that is held. */
  readonly proof: Proof;
  /** The proof of the run that has ended. */
  readonly usedProof: Proof;
  readonly artifactId: string;
  /** The tokens of all leases so far. */
  readonly tokens: readonly string[];
}

export const ARTIFACT = 'report';
export const CHECKPOINT = 'pages';

type Call = (request: InjectedRequest) => Promise<InjectedResponse>;

/** Throws where any of it is refused. */
export async function furnishRuns(call: Call, owner: Owner): Promise<Runs> {
  const { productId, tenantId, workerId, mark, headers = {} } = owner;
  const tokens: string[] = [];
  // Only texts of answers are read here.
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await call({ method: 'POST', path: `/execution/${path}`, headers, body });
    if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
    return answer.body === '' ? {} : answer.json<Record<string, string>>();
  };
  const start = async (): Promise<string> => {
    const scope = { productId, tenantId };
    const run = await post('runs', {
      handlerId: HANDLER,
      scope,
      payload: { mark },
      tags: { mark },
      correlationId: mark,
    });
    return run['id'] ?? '';
  };
  const hold = async (runId: string): Promise<Proof> => {
    const lease = await post('workers/leases', {
      workerId,
      handlerIds: [HANDLER],
      runId,
      ttlSeconds: TTL_SECONDS,
    });
    const { leaseKey = '', leaseToken = '' } = lease;
    tokens.push(leaseToken);
    return { leaseKey, leaseToken, workerId };
  };
  const ended = await start();
  const usedProof = await hold(ended);
  await post('workers/leases/complete', { ...usedProof, result: { result: { mark } } });
  const parked = await start();
  const parking = await hold(parked);
  await post('workers/leases/wait', { ...parking, kind: 'external_event', name: `${mark}.event` });
  const held = await start();
  const proof = await hold(held);
  const artifact = await post('workers/leases/artifacts', {
    ...proof,
    artifact: { name: ARTIFACT, content: { mark }, metadata: { mark } },
  });
  await post('workers/leases/checkpoints', { ...proof, checkpoint: { key: CHECKPOINT, content: { mark } } });
  await post('workers/leases/events', { ...proof, message: mark, details: { mark } });
  await post('workers/leases/reports', { ...proof, update: { currentStep: mark, statusDetails: { mark } } });
  await post(`runs/${held}/events`, { name: `${mark}.event`, payload: { mark } });
  const queued = await start();
  return {
    ids: { queued, held, parked, ended },
    proof,
    usedProof,
    artifactId: artifact['id'] ?? '',
    tokens,
  };
}

/** The words that requests are drawn from: of the proofs only the valid one, so that its parts are drawn together often enough. */
export function wordsOf({ ids, proof, artifactId }: Runs): ReadonlyMap<string, readonly string[]> {
  return new Map<string, readonly string[]>([
    ['runId', [ids.held, ids.queued, ids.parked, ids.ended]],
    ['leaseKey', [proof.leaseKey]],
    ['leaseToken', [proof.leaseToken]],
    ['workerId', [proof.workerId]],
    ['artifactRef', [ARTIFACT, artifactId]],
    ['key', [CHECKPOINT]],
    ['handlerId', [HANDLER]],
  ]);
}
