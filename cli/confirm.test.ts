import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { confirmByName, mustAsk } from './confirm.ts';

function asked(signal = new AbortController().signal) {
  const input = new PassThrough();
  const output = new PassThrough();
  return { input, output, answer: confirmByName({ tenantId: 'acme', input, output, signal }) };
}

test('the name of the tenant goes on', async () => {
  const { input, output, answer } = asked();
  input.write('acme\n');
  await answer;
  expect(String(output.read())).toContain('Type the name of the tenant');
});

test.each(['yes\n', 'Acme\n', '\n', 'acme2\n'])('%j does not', async (typed) => {
  const { input, answer } = asked();
  input.write(typed);
  await expect(answer).rejects.toMatchObject({ message: 'The name was not typed: nothing was replaced' });
});

test('an end without an answer does not', async () => {
  const { input, answer } = asked();
  input.end();
  await expect(answer).rejects.toMatchObject({ message: 'The name was not typed: nothing was replaced' });
});

test('a signal ends the question with its reason', async () => {
  const controller = new AbortController();
  const { answer } = asked(controller.signal);
  const reason = new Error('stop');
  controller.abort(reason);
  await expect(answer).rejects.toBe(reason);
});

test('the command asks for confirmation on a terminal only, and never with --yes', () => {
  expect(mustAsk({ yes: false, input: { isTTY: true } })).toBe(true);
  expect(mustAsk({ yes: true, input: {} })).toBe(false);
  expect(() => mustAsk({ yes: false, input: {} })).toThrow(/give --yes/);
});
