import { expect, test } from 'vitest';
import { lazy } from './lazy.ts';

test('callers share one opening, and a failed one is tried again', async () => {
  const outcomes = [() => Promise.reject(new Error('down')), () => Promise.resolve('open')];
  let openings = 0;
  const released: string[] = [];
  const resource = lazy(
    () => outcomes[openings++]?.() ?? Promise.resolve('again'),
    async (opened: string) => void released.push(opened),
  );
  const failed = await Promise.allSettled([resource.get(), resource.get()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(openings).toBe(1);
  expect(await Promise.all([resource.get(), resource.get()])).toEqual(['open', 'open']);
  expect(openings).toBe(2);
  await resource.close();
  expect(released).toEqual(['open']);
  await expect(resource.get()).rejects.toThrow('stopping');
});

test('closing what was never opened, or failed to open, releases nothing', async () => {
  const release = () => Promise.reject(new Error('must not be released'));
  await lazy(() => Promise.resolve(1), release).close();
  const failing = lazy(() => Promise.reject(new Error('down')), release);
  await failing.get().catch(() => undefined);
  await failing.close();
});
