/** Tries one client in a process of its own: `client-child.ts <session> <mode> <folder>` prints one JSON line for each step. */
import type { Open, Target } from './session.ts';
import { agents } from './sessions/agents.ts';
import { aiSdk } from './sessions/ai-sdk.ts';
import { mcpRemote, svcServe } from './sessions/bridges.ts';
import { inspector } from './sessions/inspector.ts';
import { langchain } from './sessions/langchain.ts';
import { overHttp } from './sessions/official.ts';
import { olderSdk } from './sessions/older-sdk.ts';
import { type StepReport, steps } from './steps.ts';

const sessions: Readonly<Record<string, Open>> = {
  official: overHttp,
  'older-sdk': olderSdk,
  'ai-sdk': aiSdk,
  agents,
  langchain,
  inspector,
  'mcp-remote': mcpRemote,
  svc: svcServe,
};

const [name = '', option = '', folder = ''] = process.argv.slice(2);
const text = (variable: string) => process.env[variable] ?? '';
const target: Target = {
  url: text('SVC_CLIENT_URL'),
  server: text('SVC_CLIENT_SERVER'),
  key: text('SVC_CLIENT_KEY'),
  keyFile: text('SVC_CLIENT_KEY_FILE'),
  folder,
  option,
};

const report = (line: StepReport) => process.stdout.write(`${JSON.stringify(line)}\n`);
const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function tryClient(open: Open): Promise<void> {
  const session = await open(target);
  report({ step: 'connect' });
  for (const [step, subject, args] of steps) {
    try {
      if (step === 'list') report({ step, tools: await session.list() });
      else if (step !== 'read') report({ step, ...(await session.call(subject, args)) });
      else if (session.read === undefined) report({ step, absent: true });
      else report({ step, text: await session.read(subject) });
    } catch (error) {
      report({ step, error: wordsOf(error) });
    }
  }
  await session.close();
}

const open = sessions[name];
if (open === undefined) throw new Error(`no client is called ${name}`);
try {
  await tryClient(open);
} catch (error) {
  report({ step: 'connect', error: wordsOf(error) });
}
// Some clients keep a timer or a connection after they are closed.
process.exit(0);
