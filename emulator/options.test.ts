import { expect, test } from 'vitest';
import { portsOf, readOptions } from './options.ts';

const none = { help: false, show: false, built: false, oidc: false, data: undefined, settings: {} };

test.each([
  [[], none],
  [['-h'], { ...none, help: true }],
  [['--show', '--built'], { ...none, show: true, built: true }],
  [['--data', 'tmp/x'], { ...none, data: 'tmp/x' }],
  [['--data=x', '--oidc'], { ...none, data: 'x', oidc: true }],
  [
    ['--Server:Port=1', '--A:B:0=x=y\nz', '--Empty='],
    { ...none, settings: { Server__Port: '1', A__B__0: 'x=y\nz', Empty: '' } },
  ],
])('%j are understood', (argv, options) => {
  expect(readOptions(argv)).toEqual(options);
});

test.each([
  [['up'], 'Options are written --Key=value'],
  [['--unknown'], 'Options are written --Key=value'],
  [['--data'], '--data needs a folder'],
  [['--data', '--oidc'], '--data needs a folder'],
  [['--data='], '--data needs a folder'],
])('%j are refused', (argv, message) => {
  expect(readOptions(argv)).toContain(message);
});

test.each([
  [{}, {}, 5220, 5221],
  [{}, { PORT: '7000' }, 7000, 7001],
  [{}, { PORT: '0' }, 0, 0],
  [{ Server__Port: '7000' }, { PORT: '8000', ADMIN_PORT: '9' }, 7000, 9],
])('of the settings %j and the environment %j come the ports %i and %i', (settings, env, port, adminPort) => {
  expect(portsOf(settings, env)).toEqual({ port, adminPort });
});

test.each(['x', '65536', '-1', '1.5'])('the port %s is refused', (PORT) => {
  expect(() => portsOf({}, { PORT })).toThrow('PORT must be a port');
});
