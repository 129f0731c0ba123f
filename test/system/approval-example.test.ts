import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Books } from '../../examples/approval/books.ts';
import { firestoreHost, firestoreMissing } from '../support/firestore.ts';
import { compilerOn, flagsOf, programOf, Reader } from './guides.ts';
import { Program, root } from './program.ts';

const script = 'examples/approval/run.ts';

function expectStory(stdout: string): void {
  expect(stdout).toContain('The service was killed (SIGKILL)');
  expect(stdout).toMatch(/^order-1: succeeded$/m);
  expect(stdout).toMatch(/^order-2: succeeded$/m);
  expect(stdout).toMatch(/^order-3: timed_out \(No decision came in time\)$/m);
  expect(stdout.match(/artifact decision: (\w+)/g)).toEqual(
    ['approved', 'rejected', 'expired'].map((verdict) => `artifact decision: ${verdict}`),
  );
  expect(stdout.match(/callback: 3 requests with the key \d+, accepted once/g)).toHaveLength(3);
  expect(stdout).toContain('Every run ended once, and every decision was accepted once');
}

test('approvals outlive the death of the embedded service', async () => {
  await using example = new Program([script], { cwd: root });
  const exit = await example.exit;
  expect(exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expectStory(example.stdout);
});

const missing = firestoreMissing === undefined ? '' : `: ${firestoreMissing}`;
test.skipIf(missing !== '')(`approvals outlive the death of the hosted worker${missing}`, async () => {
  const env = { FIRESTORE_EMULATOR_HOST: firestoreHost() };
  await using example = new Program([script, '--cloud'], { cwd: root, env });
  const exit = await example.exit;
  expect(exit, example.stdout + example.stderr).toEqual({ code: 0, signal: null });
  expectStory(example.stdout);
});

test('a missing emulator and a wrong option are reported', async () => {
  const env = { FIRESTORE_EMULATOR_JAR: join(root, 'none.jar') };
  await using noEmulator = new Program([script, '--cloud'], { cwd: root, env });
  expect((await noEmulator.exit).code).toBe(1);
  expect(noEmulator.stderr).toMatch(/^no Firestore emulator found/);
  await using wrong = new Program([script, '--clouds'], { cwd: root });
  expect((await wrong.exit).code).toBe(2);
  expect(wrong.stderr).toContain('usage: npm run example:approval');
  await using help = new Program([script, '--help'], { cwd: root });
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('--cloud');
});

test('stops cleanly in the middle', async () => {
  await using example = new Program([script], { cwd: root });
  const [, address = ''] = await example.says(/The service answers on (\S+)\.$/m);
  example.signal('SIGINT');
  expect(await example.exit).toEqual({ code: 1, signal: null });
  await expect(fetch(address)).rejects.toThrow('fetch failed');
});

/** The steps of a person who starts a run and decides on it. */
const decided = `
const running = worker.run();
const client = new SvcClient();
const run = await client.startExecutionRun({
  handlerId: 'payment.approve',
  payload: { order: 'order-1', cents: 4200, approvalSeconds: 600 },
  retryPolicy: { maxAttempts: 5, initialDelaySeconds: 0.1 },
});
await client.raiseExecutionEvent(run.id, { name: 'approval', payload: { verdict: 'approved', by: 'kim' } });
const { status, result } = await client.waitForExecutionRun(run.id, { waitTimeout: 50_000 });
const { content } = await client.getExecutionRunArtifact(run.id, 'decision');
console.log(JSON.stringify({ id: run.id, status, result, content }));
await worker.stop();
await running;
`;

test('the worker of the README does the same', async () => {
  const readme = readFileSync(join(root, 'examples/approval/README.md'), 'utf8');
  const program = programOf(readme, 'ts');
  expect(await compilerOn([program])).toBe('');
  expect(program).toContain('await worker.run();\n');
  const books = await Books.open();
  await using reader = await Reader.start(flagsOf(readme));
  const written = [
    `import { SvcClient } from '@svc-runtime/client';`,
    `process.env.APPROVAL_CALLBACK = '${books.address}';`,
    program.replace('await worker.run();\n', decided),
  ];
  const ran = await reader.run(written.join('\n'), 'ts');
  expect(ran.code, ran.stderr).toBe(0);
  const { id, status, result, content } = JSON.parse(ran.lines.at(-1) ?? '');
  expect({ status, result }).toEqual({ status: 'succeeded', result: { verdict: 'approved', by: 'kim' } });
  const notice = { runId: id, order: 'order-1', cents: 4200, verdict: 'approved', by: 'kim' };
  expect(books.read(content)).toEqual(notice);
  expect(books.received.map(({ key }) => key)).toEqual([id, id, id]);
  expect(books.accepted).toHaveLength(1);
  await books.close();
});
