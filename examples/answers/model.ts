import type { RagPromptEnvelope, SvcClient } from '../../sdk/typescript/src/index.ts';

/** The answer of a provider's model. */
export interface ModelAnswer {
  readonly provider: string;
  readonly text: string;
}

/** Runs of providers as the service serves them. The clients of releases before them lack the operation. */
interface ProviderRuns {
  readonly runProvider?: (provider: string, request: object) => Promise<unknown>;
  readonly getProviderRunJob?: (jobId: string) => Promise<unknown>;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly error?: string | null;
  readonly result?: { readonly output?: unknown } | null;
}

const CAPABILITY = 'chat';
const PAUSE_MS = 250;

/** Sends the prompt to a provider of the service and waits for what its model says. */
export async function runModel(
  client: SvcClient,
  provider: string,
  { messages }: RagPromptEnvelope,
): Promise<ModelAnswer> {
  const runs = client as unknown as ProviderRuns;
  if (runs.runProvider === undefined || runs.getProviderRunJob === undefined)
    throw new Error('this service runs no providers: leave --provider out');
  let job = (await runs.runProvider(provider, { capability: CAPABILITY, payload: { messages } })) as Job;
  while (['Queued', 'Running'].includes(job.status)) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    job = (await runs.getProviderRunJob(job.id)) as Job;
  }
  if (job.status !== 'Succeeded')
    throw new Error(`${provider} has not answered: ${job.status} ${job.error ?? ''}`);
  return { provider, text: textIn(job.result?.output) };
}

/** The text of an answer, wherever the provider puts it. */
function textIn(output: unknown): string {
  if (typeof output === 'string') return output;
  if (typeof output !== 'object' || output === null) return '';
  for (const name of ['text', 'content', 'message']) {
    const found = textIn((output as Readonly<Record<string, unknown>>)[name]);
    if (found !== '') return found;
  }
  return '';
}
