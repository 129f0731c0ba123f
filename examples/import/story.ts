import { join } from 'node:path';
import { writeCatalogue } from './catalogue.ts';
import { abandonImport, cleanUpSource } from './cleanup.ts';
import { TenantClient } from './client.ts';
import type { Front } from './front.ts';
import type { ImportOutcome } from './importer.ts';
import { ImporterProcess, type Job } from './processes.ts';
import { PublishedEvents } from './published-events.ts';
import { readSource } from './reader.ts';
import { type Edition, Watch } from './watch.ts';

const TENANT = 'workshop';
const SOURCE = 'parts-catalogue';

/** The steps of the example and the checks after each. */
export class Story {
  readonly #address: string;
  readonly #front: Front;
  readonly #folder: string;
  readonly #documents: number;
  readonly #client: TenantClient;
  readonly #watch: Watch;
  readonly #events: PublishedEvents;
  readonly #importers: ImporterProcess[] = [];

  constructor(address: string, front: Front, folder: string, documents: number) {
    this.#address = address;
    this.#front = front;
    this.#folder = folder;
    this.#documents = documents;
    this.#client = new TenantClient({ address, tenantId: TENANT });
    this.#watch = new Watch(() => readSource(this.#client, SOURCE));
    this.#events = new PublishedEvents(this.#client, address);
  }

  async play(): Promise<void> {
    let ended: PromiseSettledResult<unknown>[] = [];
    try {
      const first: Edition = { importId: 'parts-1-monday', sourceVersion: 1, documents: this.#documents };
      await this.#importFirst(first);
      await this.#refuseRival();
      const second: Edition = { importId: 'parts-2-tuesday', sourceVersion: 2, documents: this.#documents };
      await this.#importSecond(second);
      await this.#cleanUp(first, second);
      await this.#events.check([first.importId, second.importId]);
      say('The outbox holds one canon.source.published for each edition, and each was delivered.');
    } finally {
      // Their failures are thrown below, unless an earlier failure exists.
      ended = await Promise.allSettled([
        this.#events.stop(),
        this.#watch.stop(),
        ...this.#importers.map((importer) => importer.kill()),
      ]);
    }
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
    const [nothing, first, second] = this.#watch.counts;
    say(
      `A reader looked ${nothing} times and saw nothing, ${first} times the first edition, ${second} the second.`,
    );
  }

  /**
   * Importers are killed half-way, before the publishing commit and after it; each time another process continues.
   */
  async #importFirst(edition: Edition): Promise<void> {
    const job = await this.#job(edition, this.#front.address);
    const half = Math.floor(this.#documents / 200);
    const before = `${edition.importId}:chunk:${String(half).padStart(9, '0')}`;
    await this.#killedAt('before', before, job);
    const staged = await this.#staged(edition.importId);
    expectThat(staged > 0 && staged < this.#documents, `${staged} documents are staged`);
    await this.#expectSeen(null);
    say(`The importer was killed with ${staged} documents staged; readers see nothing.`);

    const resumed = await this.#killedAt('before', `${edition.importId}:publish`, job);
    expectEqual('documents staged', await this.#staged(edition.importId), this.#documents);
    expectThat(resumed.chunksThereBefore > 0, 'the second process meets chunks of the first');
    await this.#expectSeen(null);
    say(
      `The next one met ${resumed.chunksThereBefore} chunks, staged the rest, and was killed before the commit that ` +
        'publishes; readers see nothing.',
    );

    this.#watch.allow(edition);
    await this.#killedAt('after', `${edition.importId}:publish`, job);
    await this.#expectSeen(edition);
    say(
      `The third was killed before it could know that it had published; readers see all ${this.#documents}.`,
    );

    expectOutcome(await this.#start(job).outcome(), { status: 'published', before: true });
    await this.#events.delivered(edition.importId);
    say('The fourth learns that its edition is already published.');
  }

  /** Another import of the same version: refused, abandoned and cleaned up. */
  async #refuseRival(): Promise<void> {
    const importId = 'parts-1-rival';
    const job = await this.#job({ importId, sourceVersion: 1, documents: 250 }, this.#address);
    const outcome = await this.#start(job).outcome();
    expectOutcome(outcome, { status: 'refused', reason: 'version-taken' });
    expectEqual('state of the rival', await abandonImport(this.#client, importId), 'abandoned');
    expectEqual('documents of the rival', await cleanUpSource(this.#client, SOURCE), 250);
    expectEqual('documents left of the rival', await this.#staged(importId), 0);
    say('Another import of the same version was refused, abandoned, and its documents deleted.');
  }

  /** Killed during the publishing commit, so that it may or may not have taken effect. */
  async #importSecond(edition: Edition): Promise<void> {
    const job = await this.#job(edition, this.#address);
    this.#watch.allow(edition);
    const importer = this.#start(job);
    await importer.isPublishing();
    const killed = await importer.kill();
    const seen = await this.#watch.seen();
    const outcome = await this.#start(job).outcome();
    const before = outcome.status === 'published' && outcome.before;
    expectOutcome(outcome, { status: 'published', before });
    // A version that a reader saw is published for good. An unseen commit may still have been in progress.
    if (seen?.importId === edition.importId || !killed) expectEqual('published before', before, true);
    await this.#expectSeen(edition);
    await this.#events.delivered(edition.importId);
    const how = killed ? `was killed ${before ? 'after' : 'before'} the commit` : 'was quicker than the kill';
    say(
      `The second edition's importer was to be killed while it published, and this time ${how}; it was resumed, and ` +
        'readers have moved from one whole edition to the other.',
    );
  }

  async #cleanUp(superseded: Edition, current: Edition): Promise<void> {
    expectEqual('documents cleaned up', await cleanUpSource(this.#client, SOURCE), this.#documents);
    expectEqual('documents left', await this.#staged(superseded.importId), 0);
    // A second call finds nothing and marks the import as removed; a third has nothing to do.
    expectEqual('documents cleaned up again', await cleanUpSource(this.#client, SOURCE), 0);
    await this.#expectSeen(current);
    say(`The ${this.#documents} documents of the first edition were deleted; readers did not notice.`);
  }

  async #job({ importId, sourceVersion, documents }: Edition, address: string): Promise<Job> {
    const file = join(this.#folder, `${importId}.ndjson`);
    await writeCatalogue(file, sourceVersion, documents);
    return { address, tenant: TENANT, source: SOURCE, version: sourceVersion, importId, file };
  }

  async #killedAt(when: 'before' | 'after', key: string, job: Job): Promise<ImporterProcess> {
    const reached = this.#front.breakOff(when, key);
    const importer = this.#start(job);
    await importer.unlessEnded(reached);
    expectThat(await importer.kill(), 'the importer is killed');
    return importer;
  }

  #start(job: Job): ImporterProcess {
    const importer = new ImporterProcess(job);
    this.#importers.push(importer);
    return importer;
  }

  async #staged(importId: string): Promise<number> {
    let count = 0;
    for await (const page of this.#client.pages({ indexes: { importId }, limit: 1000 })) count += page.length;
    return count;
  }

  async #expectSeen(edition: Edition | null): Promise<void> {
    expectEqual('what readers see', (await this.#watch.seen())?.importId, edition?.importId);
  }
}

function say(line: string): void {
  console.log(line);
}

function expectOutcome(actual: ImportOutcome, expected: ImportOutcome): void {
  expectEqual('the outcome', JSON.stringify(actual), JSON.stringify(expected));
}

function expectThat(holds: boolean, condition: string): void {
  if (!holds) throw new Error(`it was expected that ${condition}`);
}

function expectEqual(name: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`${name}: ${String(actual)}, but ${String(expected)} was expected`);
}
