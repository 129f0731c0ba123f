import { expect, test } from 'vitest';
import { WorkPlace } from './worker-stage.ts';

// Every character that a path gives a meaning to, text that is not composed, and a joined emoji.
const keys = [
  'k/1',
  'a\\b',
  '50%',
  'a?b',
  'a#b',
  '%2F',
  '../a',
  'a b',
  'e\u0301',
  '\u{1f469}\u200d\u{1f4bb}',
];

test('checkpoints and artifacts of any name are read back by their name', async () => {
  await using place = await WorkPlace.open(20);
  const run = await place.start('h1');
  await using worker = place.worker({
    h1: async ({ checkpoint, putArtifact }) => {
      for (const key of keys) {
        await checkpoint(key, { key });
        await putArtifact({ name: key, content: { key } });
      }
    },
  });
  void worker.run();
  await place.client.waitForExecutionRun(run.id);
  for (const key of keys) {
    expect(await place.client.getExecutionRunCheckpoint(run.id, key), key).toMatchObject({
      key,
      content: { key },
    });
    expect(await place.client.getExecutionRunArtifact(run.id, key), key).toMatchObject({ name: key });
  }
});
