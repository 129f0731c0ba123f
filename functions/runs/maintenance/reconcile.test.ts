import { describe, expect, it } from 'vitest';
import { NOW, queuedRun } from '../rules/run.fixture.ts';
import { REDRIVE_MS, redriveKey } from './reconcile.ts';

const keyAfter = (ms: number) => redriveKey(queuedRun(), NOW + ms);

describe('the word of a message that is sent again', () => {
  it('exists after a whole period', () => {
    expect(keyAfter(REDRIVE_MS - 1)).toBeNull();
    expect(keyAfter(REDRIVE_MS)).toBe(`redrive ${NOW} 0`);
    expect(keyAfter(-1)).toBeNull();
  });

  it('changes whenever the time has doubled, up to 16 periods, then every 16, and then alone', () => {
    const keys = Array.from({ length: 1_024 }, (_, minutes) => keyAfter((minutes + 1) * REDRIVE_MS));
    // After 1, 2, 4, 8; then after 16, 32, 48 and so on to 1,024.
    expect(new Set(keys).size).toBe(4 + 64);
    for (const periods of [2, 4, 8, 16, 32, 48, 512, 528]) {
      expect(keyAfter(periods * REDRIVE_MS - 1)).not.toBe(keyAfter(periods * REDRIVE_MS));
    }
  });

  it('is another one when the run was written to meanwhile', () => {
    const later = queuedRun({ updatedAt: NOW + 1 });
    expect(redriveKey(later, NOW + 1 + REDRIVE_MS)).not.toBe(keyAfter(REDRIVE_MS));
  });

  it('counts from the time at which the run was queued, also after later writes', () => {
    const written = queuedRun({ queuedAt: NOW, updatedAt: NOW + REDRIVE_MS - 1 });
    expect(redriveKey(written, NOW + REDRIVE_MS)).toBe(keyAfter(REDRIVE_MS));
  });
});
