import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import { release } from '../../functions/release.ts';
import { portCheck } from './port.ts';

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function at(server: Server) {
  const port = await listening(server);
  const check = await portCheck('127.0.0.1', port);
  server.close();
  return check;
}

const health = (service: string, version: string) =>
  createServer((request, response) => {
    expect(request.url).toBe('/health');
    response.end(JSON.stringify({ service, version }));
  });

test('a free port is free, and is so again after the look', async () => {
  const server = createTcpServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  for (let tries = 0; tries < 2; tries += 1) expect((await portCheck('127.0.0.1', port)).status).toBe('ok');
  expect((await portCheck('127.0.0.1', 0)).message).toBe('The server takes a free port.');
});

test('the check names the program that holds the port: this service, another release of it, or another program', async () => {
  expect(await at(health(release.service, release.version))).toMatchObject({
    status: 'ok',
    message: expect.stringContaining(`${release.service} ${release.version} is running`),
  });
  expect(await at(health(release.service, '0.0.1'))).toMatchObject({ status: 'warning' });
  expect(await at(health('another', release.version))).toMatchObject({ status: 'failed' });
  expect(await at(createTcpServer((socket) => socket.end('220 mail\r\n')))).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('Another program'),
  });
});

test('the check reports an address that this machine does not have', async () => {
  expect(await portCheck('192.0.2.1', 5220)).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('EADDRNOTAVAIL'),
  });
});
