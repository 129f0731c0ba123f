import { OAuth2Client } from 'google-auth-library';
import { createRemoteJWKSet, exportSPKI, importJWK, type JWK, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { startOidcIssuer } from '../oidc-issuer.ts';
import { stage, target, taskOf, type WireTask } from './stage.fixture.ts';

/** Requests to a real target over a real socket. */

/** Sends one task of that kind and returns its request. */
async function sentFor(id: string, request: WireTask['httpRequest'], path = '') {
  const to = await target();
  const all = await stage();
  const task = taskOf(all.queue, id, `${to.url}${path}`, { httpRequest: request ?? {} });
  const [created] = await all.client.createTask({ parent: all.queue, task });
  const received = await to.next();
  return { ...all, to, received, created };
}

test('a request is what its task says', async () => {
  const { received, created } = await sentFor(
    'a',
    {
      httpMethod: 'PUT',
      headers: { 'Content-Type': 'text/x', 'X-A': 'b, c' },
      body: Buffer.from('b\u00f6dy'),
    },
    '/some/path?q=1&r=%20',
  );
  expect(received).toMatchObject({ method: 'PUT', url: '/some/path?q=1&r=%20', body: 'b\u00f6dy' });
  const at = Number(created.scheduleTime?.seconds) + Number(created.scheduleTime?.nanos) / 1e9;
  expect(received.headers).toEqual({
    'content-type': 'text/x',
    'x-a': 'b, c',
    'content-length': '5',
    host: expect.stringMatching(/^127\.0\.0\.1:/),
    connection: 'close',
    'user-agent': 'Google-Cloud-Tasks',
    'x-cloudtasks-queuename': 'q',
    'x-cloudtasks-taskname': 'a',
    'x-cloudtasks-taskretrycount': '0',
    'x-cloudtasks-taskexecutioncount': '0',
    'x-cloudtasks-tasketa': at.toFixed(6),
  });
});

test.each(['POST', 'GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const)(
  'it may be a %s without a body',
  async (httpMethod) => {
    const { received } = await sentFor('a', { httpMethod });
    expect(received).toMatchObject({ method: httpMethod, body: '' });
    expect(received.headers['content-type']).toBeUndefined();
  },
);

test('fields that the service computes are not those of the task', async () => {
  const { received } = await sentFor('a', {
    headers: {
      Host: 'elsewhere.test',
      'Content-Length': '7',
      'Transfer-Encoding': 'chunked',
      'User-Agent': 'me',
      Connection: 'x-keep',
      'X-Google-A': 'b',
      'X-AppEngine-QueueName': 'b',
      'X-CloudTasks-TaskName': 'forged',
      'X-CloudTasks-Other': 'b',
      Authorization: 'Basic abc',
    },
    body: Buffer.from('xy'),
  });
  expect(received.body).toBe('xy');
  expect(received.headers).toMatchObject({
    'content-length': '2',
    'user-agent': 'Google-Cloud-Tasks',
    'x-cloudtasks-taskname': 'a',
    authorization: 'Basic abc',
  });
  expect(received.headers.host).toMatch(/^127\.0\.0\.1:/);
  const names = Object.keys(received.headers);
  for (const name of ['transfer-encoding', 'x-google-a', 'x-appengine-queuename', 'x-cloudtasks-other'])
    expect(names).not.toContain(name);
});

test('every name of this machine is reached, and no name server is asked for it', async () => {
  const to = await target();
  const { client, queue } = await stage();
  const { port } = new URL(to.url);
  for (const host of ['localhost', 'anything.localhost', '127.0.0.1']) {
    const task = taskOf(queue, null, `http://${host}:${port}/`);
    await client.createTask({ parent: queue, task });
    const request = await to.next();
    expect(request.headers.host).toBe(`${host}:${port}`);
    request.answer(204);
  }
});

describe('the token of a task', () => {
  const email = 'invoker@project.test';

  function tokenIn(headers: { readonly authorization?: string | undefined }): string {
    return /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  }

  test('is of the issuer of the emulator, for the URL, and in the place of a field of the task', async () => {
    const { received, to, emulator } = await sentFor('a', {
      headers: { authorization: 'Bearer mine', AUTHORIZATION: 'Bearer mine' },
      oidcToken: { serviceAccountEmail: email },
    });
    const keys = createRemoteJWKSet(new URL(emulator.issuer.keySetUrl));
    const { payload } = await jwtVerify(tokenIn(received.headers), keys, {
      issuer: emulator.issuer.issuer,
      audience: to.url,
      algorithms: ['RS256'],
    });
    expect(payload).toMatchObject({ email, email_verified: true, sub: expect.stringMatching(/^\d+$/) });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
  });

  test('is of the issuer that was handed in and for the audience that was given, as the library of Google reads it', async () => {
    const issuer = await startOidcIssuer();
    const to = await target();
    const { client, queue, emulator } = await stage({ issuer });
    expect(emulator.issuer.issuer).toBe(issuer.issuer);
    const oidcToken = { serviceAccountEmail: email, audience: 'https://svc.example' };
    await client.createTask({
      parent: queue,
      task: taskOf(queue, null, to.url, { httpRequest: { oidcToken } }),
    });
    const received = await to.next();
    received.answer(200);
    const { keys } = (await (await fetch(issuer.keySetUrl)).json()) as { keys: (JWK & { kid: string })[] };
    const pems = await Promise.all(
      keys.map(async (jwk) => {
        const key = await importJWK(jwk, 'RS256', { extractable: true });
        return [jwk.kid, await exportSPKI(key as Parameters<typeof exportSPKI>[0])] as const;
      }),
    );
    const reader = new OAuth2Client();
    const verify = (audience: string) =>
      reader.verifySignedJwtWithCertsAsync(tokenIn(received.headers), Object.fromEntries(pems), audience, [
        issuer.issuer,
      ]);
    expect((await verify('https://svc.example')).getPayload()).toMatchObject({ email });
    await expect(verify(to.url)).rejects.toThrow('Wrong recipient');
    await issuer.stop();
  });

  test('that cannot be made fails the attempt, and is tried again', async () => {
    const to = await target();
    let asked = 0;
    const issuer = {
      issuer: 'none',
      keySetUrl: 'none',
      mint: () => {
        asked += 1;
        return asked === 1 ? Promise.reject(new Error('no key')) : Promise.resolve('made');
      },
    };
    const { client, queue } = await stage({ issuer });
    const oidcToken = { serviceAccountEmail: email };
    await client.createTask({
      parent: queue,
      task: taskOf(queue, null, to.url, { httpRequest: { oidcToken } }),
    });
    const { headers } = await to.next();
    expect(headers).toMatchObject({ authorization: 'Bearer made', 'x-cloudtasks-taskretryreason': 'no key' });
  });
});

test('a task that failed is sent again, and says so', async () => {
  const { to, received, client, created } = await sentFor('a', {});
  received.answer(500);
  const second = await to.next();
  expect(second.headers).toMatchObject({
    'x-cloudtasks-taskretrycount': '1',
    'x-cloudtasks-taskexecutioncount': '0',
    'x-cloudtasks-taskpreviousresponse': '500',
    'x-cloudtasks-taskretryreason': 'HTTP status code 500',
  });
  second.answer(404);
  const third = await to.next();
  expect(third.headers).toMatchObject({
    'x-cloudtasks-taskretrycount': '2',
    'x-cloudtasks-taskexecutioncount': '1',
    'x-cloudtasks-taskpreviousresponse': '404',
  });
  const [seen] = await client.getTask({ name: created.name ?? '' });
  expect(seen).toMatchObject({
    dispatchCount: 3,
    responseCount: 2,
    firstAttempt: { dispatchTime: expect.anything(), responseTime: null },
    lastAttempt: { dispatchTime: expect.anything(), responseTime: null, responseStatus: null },
  });
  third.answer(302, { location: 'http://192.0.2.1/' });
  const fourth = await to.next();
  expect(fourth.headers['x-cloudtasks-taskpreviousresponse']).toBe('302');
});

test('a target that hangs up is tried again without a previous response', async () => {
  const { to, received } = await sentFor('a', {});
  received.hangUp();
  const second = await to.next();
  expect(second.headers['x-cloudtasks-taskretrycount']).toBe('1');
  expect(second.headers['x-cloudtasks-taskpreviousresponse']).toBeUndefined();
  expect(second.headers['x-cloudtasks-taskretryreason']).toMatch(/socket hang up/);
});

test('it stops when what is under way has been answered', async () => {
  const to = await target();
  const { client, queue, emulator } = await stage({ stopGraceMs: 60_000 });
  await client.createTask({ parent: queue, task: taskOf(queue, 'a', to.url) });
  const received = await to.next();
  let stopped = false;
  const stopping = emulator.stop().then(() => {
    stopped = true;
  });
  await fetch(`${emulator.adminUrl}/state`).catch(() => undefined);
  expect(stopped).toBe(false);
  received.answer(200);
  await stopping;
});

test('while it holds, nothing more is sent, and calls are taken', async () => {
  const to = await target();
  const { client, queue, emulator } = await stage({ stopGraceMs: 60_000 });
  const create = (id: string) => client.createTask({ parent: queue, task: taskOf(queue, id, to.url) });
  await create('a');
  const received = await to.next();
  const held = emulator.hold();
  await create('b');
  await client.runTask({ name: `${queue}/tasks/b` });
  received.answer(200);
  await held;
  const [left] = await client.listTasks({ parent: queue });
  expect(left.map(({ name, dispatchCount }) => [name, dispatchCount])).toEqual([[`${queue}/tasks/b`, 0]]);
  await emulator.stop();
  expect(to.received).toHaveLength(1);
});

test.each(['0.0.0.0', '::', '192.0.2.1', 'example.test'])('it does not listen on %s', async (host) => {
  await expect(stage({ host })).rejects.toThrow('loopback only');
});

test('a start on a port in use stops the parts that it has started', async () => {
  const { emulator } = await stage();
  await expect(stage({ port: emulator.port })).rejects.toThrow(/address already in use|EADDRINUSE/i);
});
