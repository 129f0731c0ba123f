import { expect, test } from 'vitest';
import type { LogEvent } from '../../../kernel/log.ts';
import { MetEvents } from './outbox-log.ts';

const event = (id: string) => ({ id, topic: 'orders' });

test('a dead letter is named by its tenant, topic and id, once for a call, and a long wait by its age', () => {
  const lines: LogEvent[] = [];
  const met = new MetEvents('acme');
  // The store may decide again.
  for (const id of ['e-1', 'e-2', 'e-1']) met.parked(event(id));
  met.leased(40_000);
  met.leased(30_000);
  met.report((line) => lines.push(line), 100_000);
  const message = 'An outbox event became a dead letter';
  expect(lines).toEqual([
    { severity: 'WARNING', message, tenantId: 'acme', topic: 'orders', eventId: 'e-1' },
    { severity: 'WARNING', message, tenantId: 'acme', topic: 'orders', eventId: 'e-2' },
    { severity: 'WARNING', message: 'An outbox event waited long for its consumer', ageMs: 70_000 },
  ]);
});
