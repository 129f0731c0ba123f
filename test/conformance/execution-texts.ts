import { describe, expect, it } from 'vitest';
import { refusalWords, ServiceError } from '../../functions/kernel/errors.ts';
import { RunFailure } from '../../functions/runs/plugin.ts';
import { refused } from '../support/canonical.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { ownRuns, storedRun, type Work, working } from './execution-fixtures.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const KEPT = 'TypeError: x is undefined\r\n\tat pay (pay.js:3)';
const FORBIDDEN: readonly (readonly [text: string, place: string])[] = [
  ['\u0000', 'U+0000 at position 0'],
  ['line one\n\u001b[2J', 'U+001B at position 9'],
  ['a\u000bb', 'U+000B at position 1'],
  ['a\u000cb', 'U+000C at position 1'],
  ['a\u007fb', 'U+007F at position 1'],
  ['a\r\n\u0085', 'U+0085 at position 3'],
];

/** Writes the text and returns it as the service shows it. */
type Writing = (client: ExecutionClient, work: Work, text: string, runId: string) => Promise<unknown>;

/** Texts that people read. */
const prose: [string, Writing][] = [
  [
    'the error of a completion',
    async (client, work, error) =>
      (await client.complete({ ...work, result: { status: 'failed', error } })).error,
  ],
  [
    'the error of a report',
    async (client, work, error) => (await client.report({ ...work, update: { error } })).error,
  ],
  [
    'the step of a report',
    async (client, work, currentStep) =>
      (await client.report({ ...work, update: { currentStep } })).currentStep,
  ],
  [
    'the message of an event',
    async (client, work, message, runId) => {
      await client.record({ ...work, message });
      return (await client.history(runId)).at(-1)?.message;
    },
  ],
];

type Naming = (client: ExecutionClient, work: Work, text: string) => Promise<unknown>;

/** Texts that are compared, sorted or sent in headers. */
const names: [string, Naming][] = [
  ['a failure class', (client, work, failureClass) => client.report({ ...work, update: { failureClass } })],
  ['the type of an event', (client, work, type) => client.record({ ...work, type })],
  ['the severity of an event', (client, work, severity) => client.record({ ...work, severity })],
  [
    'the name of an artifact',
    (client, work, name) => client.putArtifact({ ...work, artifact: { name, text: '' } }),
  ],
  [
    'the address of an artifact',
    (client, work, uri) => client.putArtifact({ ...work, artifact: { name: 'a', uri } }),
  ],
  [
    'the media type of an artifact',
    (client, work, mediaType) =>
      client.putArtifact({ ...work, artifact: { name: 'a', text: '', mediaType } }),
  ],
  [
    'the metadata of an artifact',
    (client, work, m) => client.putArtifact({ ...work, artifact: { name: 'a', text: '', metadata: { m } } }),
  ],
  [
    'the key of a checkpoint',
    (client, work, key) => client.putCheckpoint({ ...work, checkpoint: { key, content: 1 } }),
  ],
  ['the name of a wait', (client, work, name) => client.wait({ ...work, kind: 'external_event', name })],
];

/** Which texts of a run may have several lines. */
export function describeTexts({ store }: ExecutionConformance): void {
  describe('texts of a run', () => {
    it.each(prose)('%s keeps tabs and line breaks, and no other control character', async (_, write) => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const before = await storedRun(client, run.id);
      for (const [text, place] of FORBIDDEN) {
        const refusal: unknown = await write(client, work, text, run.id).catch((error: unknown) => error);
        if (!(refusal instanceof ServiceError)) throw new Error(`${place} is not refused`);
        expect(refusal.code).toBe('validation_failed');
        expect(refusalWords(refusal)).toContain(place);
      }
      expect(await storedRun(client, run.id)).toEqual(before);
      expect(await write(client, work, KEPT, run.id)).toBe(KEPT);
    });

    it.each(names)('%s holds no line break and no tab', async (_, write) => {
      const { client } = ownRuns(store());
      const { run, work } = await working(client);
      const before = await storedRun(client, run.id);
      for (const text of ['a\nb', 'a\rb', 'a\tb', 'a\u0000b'])
        await refused('validation_failed', write(client, work, text));
      expect(await storedRun(client, run.id)).toEqual(before);
    });

    it('a handler in the process keeps the lines of its failure, and loses other control characters', async () => {
      const stage = new Stage(store());
      const plugin = pluginOf({
        'p.fails': () => {
          throw new RunFailure('transient', `${KEPT}\u0000\u001b`);
        },
        'p.throws': () => {
          throw new Error(`${KEPT}\u0000\u001b`);
        },
        'p.logs': async (context) => {
          await context.log(KEPT);
          await context.report({ currentStep: KEPT });
          return 'done';
        },
      });
      const client = stage.client({ plugins: [plugin], options: { showsHandlerErrors: true } });
      expect((await executed(stage, client, 'p.fails')).error).toBe(`${KEPT}  `);
      expect((await executed(stage, client, 'p.throws')).error).toBe(KEPT);
      const { id, status } = await executed(stage, client, 'p.logs');
      expect(status).toBe('succeeded');
      expect((await client.history(id)).map(({ message }) => message)).toContain(KEPT);
    });
  });
}
