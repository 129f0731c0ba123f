import { describe, expect, test } from 'vitest';
import type { RunMessage } from '../port.ts';
import { scheduleOf, taskOf } from './message.ts';

const now = Date.UTC(2026, 0, 1);
const route = {
  queue: 'projects/p/locations/l/queues/q',
  url: 'https://worker.example/tasks',
  serviceAccountEmail: 'tasks@p.iam.gserviceaccount.com',
  audience: null,
};
const message: RunMessage = {
  runId: '00822868566016000115',
  handlerId: 'h',
  reason: 'run_ready',
  notBefore: now,
  attempt: 0,
};

describe('a task', () => {
  test('carries the id of the run and the reason, and a token for its address', () => {
    const { httpRequest, scheduleTime, dispatchDeadline } = taskOf(message, route, now);
    expect(JSON.parse(httpRequest.body.toString())).toEqual({
      runId: message.runId,
      reason: 'run_ready',
      scheduledAtUtc: null,
    });
    expect(httpRequest).toMatchObject({
      url: route.url,
      httpMethod: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Svc-Execution-Dispatch': '1' },
      oidcToken: { serviceAccountEmail: route.serviceAccountEmail, audience: route.url },
    });
    expect(scheduleTime).toBeUndefined();
    // Cloud Tasks allows 15 seconds to 30 minutes.
    expect(dispatchDeadline).toEqual({ seconds: 1_800 });
  });

  test('has the audience of the route, and no token without an account', () => {
    const aimed = taskOf(message, { ...route, audience: 'svc' }, now);
    expect(aimed.httpRequest.oidcToken?.audience).toBe('svc');
    const bare = taskOf(message, { ...route, serviceAccountEmail: null }, now);
    expect(bare.httpRequest).not.toHaveProperty('oidcToken');
  });

  test('is scheduled for its time, or for the longest delay that Cloud Tasks allows', () => {
    const at = now + 90_061_001;
    const task = taskOf({ ...message, notBefore: at }, route, now);
    expect(task.scheduleTime).toEqual({ seconds: Math.floor(at / 1_000), nanos: 1_000_000 });
    expect(JSON.parse(task.httpRequest.body.toString()).scheduledAtUtc).toBe(new Date(at).toISOString());
    for (const days of [28.9, 29, 29.1, 57, 400, 4_000]) {
      const target = now + days * 86_400_000;
      const ahead = scheduleOf(target, now) - now;
      expect(ahead, `${days} days`).toBeLessThanOrEqual(29 * 86_400_000);
      expect(ahead, `${days} days`).toBeGreaterThanOrEqual(86_400_000);
      expect((target - scheduleOf(target, now)) % (28 * 86_400_000)).toBe(0);
    }
    expect(scheduleOf(at, now)).toBe(at);
  });
});

describe('the name of a task', () => {
  const nameOf = (changes: Partial<RunMessage> = {}, at = now) =>
    taskOf({ ...message, ...changes }, route, at).name;

  test('is a hash, as Cloud Tasks recommends', () => {
    expect(nameOf()).toMatch(/^projects\/p\/locations\/l\/queues\/q\/tasks\/[0-9a-f]{64}$/);
  });

  test('is the same for a repeated message', () => {
    expect(nameOf({}, now + 5)).toBe(nameOf());
    const later = { notBefore: now + 60_000 };
    expect(nameOf(later, now + 5)).toBe(nameOf(later));
  });

  test('differs with the run, the reason, the attempt, the moment and the word', () => {
    const soon = { reason: 'lease_expired' as const, notBefore: now + 60_000 };
    const names = [
      nameOf(),
      nameOf({ runId: '00822868566016000116' }),
      nameOf({ reason: 'external_event' }),
      nameOf({ attempt: 1 }),
      nameOf({ repeatKey: 'redrive 0' }),
      nameOf({ repeatKey: 'redrive 1' }),
      nameOf(soon),
      nameOf({ ...soon, notBefore: now + 120_000 }),
      nameOf({ ...soon, attempt: 1 }),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  test('differs for each hop to a time that is far away', () => {
    const year = { reason: 'timer_due' as const, notBefore: now + 370 * 86_400_000 };
    const hops = new Set<string>();
    let at = now;
    for (let hop = 0; at < year.notBefore; hop += 1) {
      const name = nameOf(year, at);
      // Two messages in the same span have one name, and a hop that is delivered early names the next one.
      expect(nameOf(year, at + 3_600_000)).toBe(name);
      hops.add(name);
      expect(hops.size).toBe(hop + 1);
      at = scheduleOf(year.notBefore, at);
      if (at < year.notBefore) expect(nameOf(year, at - 3_600_000)).toBe(nameOf(year, at));
    }
    expect(hops.size).toBe(14);
  });

  test('distinguishes the parts of a message, also when one holds a line break', () => {
    expect(nameOf({ runId: 'a', repeatKey: 'b' })).not.toBe(nameOf({ runId: 'a\nb', repeatKey: '' }));
  });
});
