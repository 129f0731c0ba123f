import { EventEmitter } from 'node:events';
import type { RunContext } from '../../functions/runs/plugin.ts';

/** How a handler may forget an `await`. */

export const fault = () => new Error('canary');
const never = Promise.withResolvers<never>();

export const waysToForget: Readonly<Record<string, (context: RunContext) => void>> = {
  'a rejected promise': () => void Promise.reject(fault()),
  'an async function': () =>
    void (async () => {
      await Promise.resolve();
      throw fault();
    })(),
  'a call over the network': () => void fetch('http://127.0.0.1:9/canary'),
  'a timer': () => void setTimeout(() => void Promise.reject(fault()), 1),
  'a listener': () => {
    const emitter = new EventEmitter();
    const listener = () => Promise.reject(fault());
    emitter.on('now', listener as () => void);
    emitter.emit('now');
  },
  'a promise of others': () => {
    void never.promise.then(() => undefined);
    setTimeout(() => never.reject(fault()), 1);
  },
  'a value that cannot be read': () => void Promise.reject(Object.create(null)),
  'many at once': () => {
    for (let at = 0; at < 20; at += 1) void Promise.reject(fault());
  },
};
