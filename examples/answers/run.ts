/**
 * Questions to the documentation of this project: its pages are ingested, questions are answered from them with citations, and
 * one page is edited and ingested again. Fails at the first broken promise.
 *
 *     npm run example:answers
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Service } from '../approval/service.ts';
import { type Example, runExample } from '../run-example.ts';
import { pagesOf } from './documents.ts';
import { play } from './story.ts';

const root = join(import.meta.dirname, '../..');
const QUESTIONS = [
  'How long does a worker hold the lease of a run?',
  'What happens to the records of a deleted collection?',
  'Where are vectors kept that were paid for?',
];
const usage = `usage: npm run example:answers -- [--question <text>]... [--pages <number>] [--provider <id>] [--keep]

--question  asks this instead of the three questions of the example; may be given several times
--pages     ingests only the first pages of docs/ (all)
--provider  a provider of the service, whose model answers from the context (SVC_EXAMPLE_PROVIDER);
            without it the answer is the sentence of the documents that fits best
--keep      leaves the data folder`;

const { question, pages, provider, keep } = readOptions();

await runExample({ name: 'example:answers', takes: 'about half a minute', main });

async function main(undo: Parameters<Example['main']>[0]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-answers-'));
  undo(async () => (keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true })));
  const service = new Service({
    script: 'functions/embedded.ts',
    args: [],
    env: { SVC_DATA_DIR: folder },
  });
  undo(() => service.stop());
  await service.start();
  console.log(`The service answers on ${service.address}.`);
  await play({
    address: service.address,
    pages: pagesOf(root).slice(0, pages),
    questions: question,
    provider,
  });
  return 'Every promise was kept';
}

function readOptions() {
  const boolean = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      options: {
        question: { type: 'string', multiple: true, default: QUESTIONS },
        pages: { type: 'string', default: '1000' },
        provider: { type: 'string', default: process.env['SVC_EXAMPLE_PROVIDER'] ?? '' },
        keep: boolean,
        help: { ...boolean, short: 'h' },
      },
    });
    if (values.help) {
      console.log(usage);
      return process.exit(0);
    }
    const count = Number(values.pages);
    if (!Number.isInteger(count) || count < 1) throw new Error('--pages must be a whole number from 1');
    return { ...values, pages: count, provider: values.provider === '' ? null : values.provider };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return process.exit(2);
  }
}
