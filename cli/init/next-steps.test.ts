import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answersFrom } from './ask.ts';
import { nextSteps } from './next-steps.ts';

test('a shell reads the printed commands as they are meant, also with spaces and quotes', async () => {
  const options = { out: 'my conf', workerId: 'w', proxies: 1, tenant: ["o'brien"], product: 'sh op' };
  const answers = await answersFrom({ options, ask: null, readFile: () => '' });
  const text = nextSteps(answers, [{ name: 'app.token', text: '', secret: true, purpose: 'token' }]);
  const printed = text.split('\n').filter((line) => /^ +(?:\d+\. )?svc /.test(line));
  const commands = printed.map((line) => line.slice(line.indexOf('svc ')).replace(/ {2}makes.*/, ''));
  const script = `svc() { for word in "$@"; do echo "$word"; done; }\n${commands.join('\n')}`;
  const words = execFileSync('/bin/sh', ['-ec', script], { encoding: 'utf8' }).split('\n');
  expect(words).toEqual(
    expect.arrayContaining(['my conf/svcsettings.json', 'my conf/app.token', "tenantId=o'brien"]),
  );
  const [, body = ''] = words.filter((word) => word.startsWith('{'));
  expect(JSON.parse(body)).toMatchObject({ scope: { productId: 'sh op', tenantId: "o'brien" } });
});

/** What a program gets of a printed line, which a shell reads. */
function environmentOf(line: string): Readonly<Record<string, string | undefined>> {
  const script = `cat() { printf 'text of %s' "$1"; }\n${line.trim().replace(/ (?:node|\S*python) \S+$/, ' env')}`;
  const printed = execFileSync('/bin/sh', ['-ec', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return Object.fromEntries(printed.split('\n').map((pair) => pair.split(/=(.*)/s)));
}

test('a worker is started with its token, its id and the key, in both languages', async () => {
  const options = { out: 'my conf', workerId: 'w 1', proxies: 1, tenant: ['a'], product: 'p' };
  const more = { handler: ['refund.pay'], port: 7, apiKey: true as const };
  const answers = await answersFrom({ options: { ...options, ...more }, ask: null, readFile: () => '' });
  const token = (name: string) => ({ name: `${name}.token`, text: '', secret: true, purpose: 'token' });
  const text = nextSteps(answers, [token('app'), token('worker')]);
  expect(text).toContain('A worker for refund.pay, in the folder of its program');
  const lines = text.split('\n').filter((line) => line.includes('SVC_BASE_URL='));
  expect(lines.map((line) => line.split(' ').at(-1))).toEqual(['start.ts', 'worker.py']);
  for (const line of lines)
    expect(environmentOf(line)).toMatchObject({
      SVC_BASE_URL: 'http://127.0.0.1:7',
      SVC_IDENTITY_TOKEN: `text of ${join(answers.folder, 'worker.token')}`,
      SVC_API_KEY: `text of ${join(answers.folder, 'api-key.txt')}`,
      WORKER_ID: 'w 1',
    });
  expect(text).not.toContain('YOUR_HANDLER');
});

test('where no handler is named the steps name the option', async () => {
  const options = { out: '.', workerId: 'w', proxies: 1, tenant: ['a'], product: 'p' };
  const answers = await answersFrom({ options, ask: null, readFile: () => '' });
  const text = nextSteps(answers, [{ name: 'app.token', text: '', secret: true, purpose: 'token' }]);
  expect(text).toContain('repeat svc init with --handler YOUR_HANDLER --force');
  expect(text).not.toContain('A worker for');
});
