import { afterAll, vi } from 'vitest';

/** Plain files share a process: what one changes for itself ends with it. This file runs once more for each of them. */
const env = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
  Object.assign(process.env, env);
});
