import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { answersFrom } from './ask.ts';
import { nextSteps } from './next-steps.ts';

test('a shell reads the printed commands as they are meant, also with spaces and quotes', async () => {
  const options = { out: 'my conf', workerId: 'w', proxies: 1, tenant: ["o'brien"], product: 'sh op' };
  const answers = await answersFrom({ options, ask: null, readFile: () => '' });
  const text = nextSteps(answers, [{ name: 'app.token', text: '', secret: true, purpose: 'token' }]);
  const printed = text.split('\n').filter((line) => line.includes('svc '));
  const commands = printed.map((line) => line.slice(line.indexOf('svc ')).replace(/ {2}makes.*/, ''));
  const script = `svc() { for word in "$@"; do echo "$word"; done; }\n${commands.join('\n')}`;
  const words = execFileSync('/bin/sh', ['-ec', script], { encoding: 'utf8' }).split('\n');
  expect(words).toEqual(
    expect.arrayContaining(['my conf/svcsettings.json', 'my conf/app.token', "tenantId=o'brien"]),
  );
  const [, body = ''] = words.filter((word) => word.startsWith('{'));
  expect(JSON.parse(body)).toMatchObject({ scope: { productId: 'sh op', tenantId: "o'brien" } });
});
