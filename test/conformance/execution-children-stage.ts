import type { ExecutionClient } from '../support/execution.ts';
import { HANDLER, leased, proofOf } from './execution-stage.ts';

type Proof = ReturnType<typeof proofOf>;
type Child = Parameters<ExecutionClient['startChild']>[0]['child'];

/** Starts a child of the leased run. */
export async function child(
  client: ExecutionClient,
  proof: Proof,
  writeId = 'c',
  more: Partial<Child> = {},
): Promise<string> {
  const body = { ...proof, writeId, child: { handlerId: HANDLER, ...more } };
  return (await client.startChild(body)).runId;
}

export function waitFor(client: ExecutionClient, proof: Proof, runId: string, more: object = {}) {
  return client.wait({ ...proof, kind: 'run', name: 'child', runId, ...more });
}

/** A worker leases the run and completes it. */
export async function finish(
  client: ExecutionClient,
  runId: string,
  result: Parameters<ExecutionClient['complete']>[0]['result'] = { status: 'succeeded' },
) {
  const lease = await leased(client, { runId });
  return client.complete({ ...proofOf(lease), result });
}

export async function again(client: ExecutionClient, runId: string): Promise<Proof> {
  return proofOf(await leased(client, { runId }));
}
