import { describe, expect, it } from 'vitest';
import { NOW, queuedRun } from '../rules/run.fixture.ts';
import { REDRIVE_MS, redriveWord } from './reconcile.ts';

const word = (ms: number) => redriveWord(queuedRun(), NOW + ms);

describe('the word of a message that is sent again', () => {
  it('is there after a whole period', () => {
    expect(word(REDRIVE_MS - 1)).toBeNull();
    expect(word(REDRIVE_MS)).toBe(`redrive ${NOW} 0`);
    expect(word(-1)).toBeNull();
  });

  it('changes whenever the time has doubled, and then alone', () => {
    const words = Array.from({ length: 1_024 }, (_, minutes) => word((minutes + 1) * REDRIVE_MS));
    expect(new Set(words).size).toBe(11);
    for (const periods of [2, 4, 8, 512]) {
      expect(word(periods * REDRIVE_MS - 1)).not.toBe(word(periods * REDRIVE_MS));
    }
  });

  it('is another one when the run was written to meanwhile', () => {
    const later = queuedRun({ updatedAt: NOW + 1 });
    expect(redriveWord(later, NOW + 1 + REDRIVE_MS)).not.toBe(word(REDRIVE_MS));
  });
});
