import { expect, test } from 'vitest';
import { hosted } from '../../test/support/hosted.ts';

/** The answer and the log of an instance of the function `execution`, beside another one of the same store. */

const settings = {
  Environment: 'Development',
  'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'theirs',
  'Server:LogLevel': 'warning',
};

const lease = (handlerIds: readonly string[]) => ({
  method: 'POST',
  path: '/execution/workers/leases',
  body: { workerId: 'w', handlerIds },
});

const namedIn = (lines: readonly string[]) =>
  lines.flatMap((line) => {
    const { message, handlerId } = JSON.parse(line) as { message: string; handlerId?: string };
    const isOurs = message.includes('the settings lack: add it to ExecutionRuntime:ExternalHandlers');
    return isOurs ? [handlerId] : [];
  });

test('each instance of a deployment with its queue in the cloud logs an unknown handler once, and its lines are bounded', async () => {
  const one = await hosted({ target: 'execution', settings });
  const other = await hosted({ target: 'execution', settings, folder: one.folder });
  for (const instance of [one, other]) {
    const answer = await instance.call(lease(['theirs', 'refund.pay']));
    expect([answer.status, answer.headers['svc-unknown-handlers']]).toEqual([204, 'refund.pay']);
    await instance.call(lease(['refund.pay']));
    expect(namedIn(instance.lines)).toEqual(['refund.pay']);
    const start = { handlerId: 'refund.pay', idempotencyKey: 'k' };
    const refused = await instance.call({ method: 'POST', path: '/execution/runs', body: start });
    expect(refused.json()).toMatchObject({ code: 'handler_missing' });
    await instance.call(lease(Array.from({ length: 32 }, (_, at) => `h${at}`)));
    expect(namedIn(instance.lines)).toHaveLength(20);
  }
  await other.close();
  await one.close();
});
