import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TenantSnapshot } from '../../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { Random } from '../simulation/random.ts';
import { commitFaults, leaseFaults } from './kill-loop-audit.ts';
import { CommitClients } from './kill-loop-commits.ts';
import { CopyClient } from './kill-loop-copies.ts';
import { LedgerClient } from './kill-loop-ledger.ts';
import { TenantLog } from './kill-loop-log.ts';
import { OutboxClients } from './kill-loop-outbox.ts';
import { LoopServer, type LoopServerOptions, tenantPath } from './kill-loop-server.ts';

export interface KillLoopOptions extends LoopServerOptions {
  readonly kills: number;
  readonly seed: number;
  /** Whether all rare events have happened: the campaign continues until then, up to `killsMax`. */
  readonly reached?: (report: KillLoopReport) => boolean;
  readonly killsMax?: number;
}

export interface KillLoopReport {
  /** Contradictions to the answers that clients got; empty for a sound server. */
  readonly faults: readonly string[];
  readonly kills: number;
  /** How often each kind of call was answered, and how often a kill cut one off. */
  readonly answered: ReadonlyMap<string, number>;
  readonly cut: ReadonlyMap<string, number>;
}

/** So many rounds on one tenant, which then stays as it is and must not change any more. */
const ROUNDS_PER_TENANT = 10;
/** Answers of one round before its kill. */
const ANSWERS = { least: 5, spread: 90 };
/** Turns of the event loop between the last of these answers and the kill. */
const TURNS = 60;
/** One start in this number is cut off too, after a random time within `START_MS`; a start takes about 150 ms. */
const STARTS_PER_CUT = 8;
const START_MS = { least: 80, spread: 160 };
const FAULTS_MAX = 20;
/** Acknowledged commits of a round that are sent again after it. */
const REPEATS = 8;

/**
 * The embedded server under all canonical operations at once, killed at random moments and started again over the same
 * folder. Clients log their answers; after every start the server is compared with the log.
 */
export class KillLoop {
  readonly #options: KillLoopOptions;
  readonly #random: Random;
  readonly #server: LoopServer;
  readonly #faults: string[] = [];
  readonly #answered = new Map<string, number>();
  readonly #cut = new Map<string, number>();
  readonly #copies: CopyClient;
  readonly #ledger: LedgerClient;
  /** Tenants that no client changes any more, by the hash of their content. */
  readonly #frozen = new Map<string, string>();
  #tenant: Tenant;
  #kills = 0;

  constructor(options: KillLoopOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#server = new LoopServer(options);
    const fault = (text: string) => void this.#faults.push(text);
    this.#copies = new CopyClient(this.#server, `copied-${options.seed}`, fault);
    this.#ledger = new LedgerClient(this.#server, fault);
    this.#tenant = this.#openTenant(0);
  }

  async run(): Promise<KillLoopReport> {
    try {
      await this.#server.start();
      await this.#copies.prepare();
      for (let round = 1; this.#goesOn() && this.#faults.length === 0; round++) {
        await this.#round();
        await this.#check();
        if (round % ROUNDS_PER_TENANT === 0) await this.#freeze(round);
      }
      if (this.#faults.length === 0) await this.#end();
    } catch (error) {
      // A server that does not come back, or does not answer, is as wrong as one with a false answer.
      this.#faults.push(error instanceof Error ? `${error.message}\n${error.stack}` : String(error));
    } finally {
      await this.#server.kill();
    }
    return this.#report();
  }

  #report(): KillLoopReport {
    const faults = [...new Set(this.#faults)].slice(0, FAULTS_MAX);
    return { faults, kills: this.#kills, answered: this.#answered, cut: this.#cut };
  }

  #goesOn(): boolean {
    const { kills, killsMax = kills, reached = () => true } = this.#options;
    return this.#kills < kills || (this.#kills < killsMax && !reached(this.#report()));
  }

  /** Load until a random moment, then the kill and a new start, which may be killed as well. */
  async #round(): Promise<void> {
    const random = this.#random;
    const enough = this.#server.answered(ANSWERS.least + random.below(ANSWERS.spread));
    const turns = random.below(TURNS);
    const clients = this.#clients().map((turn) => this.#client(turn, new Random(random.below(2 ** 31))));
    // A client ends early only where it threw.
    await Promise.race([enough, Promise.all(clients)]);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    await this.#server.kill();
    this.#kills += 1;
    await Promise.all(clients);
    if (random.below(STARTS_PER_CUT) === 0) {
      await this.#server.startAndKill(START_MS.least + random.below(START_MS.spread));
      this.#kills += 1;
    }
    await this.#server.start();
  }

  #clients(): ((random: Random) => Promise<string>)[] {
    const { commits, outbox } = this.#tenant;
    const [copies, ledger] = [this.#copies, this.#ledger];
    const write = (random: Random) => commits.write(random);
    const consume = (random: Random) => outbox.consume(random);
    return [
      write,
      write,
      write,
      consume,
      consume,
      (random) =>
        random.pick([
          () => outbox.useOldToken(random),
          () => outbox.useOldToken(random),
          () => outbox.look(random),
          () => outbox.replay(),
        ])(),
      (random) =>
        random.pick([
          () => commits.read(random),
          () => commits.query(random),
          () => commits.listRevisions(random),
          () => copies.read(),
        ])(),
      (random) => copies.turn(random),
      (random) =>
        random.pick([
          () => ledger.apply(random),
          () => ledger.contradict(random),
          () => ledger.list(),
          () => ledger.probe(),
          () => this.#exportUnderLoad(),
        ])(),
    ];
  }

  async #client(turn: (random: Random) => Promise<string>, random: Random): Promise<void> {
    while (!this.#server.dying && this.#faults.length === 0) {
      const kind = await turn(random);
      const counts = this.#server.dying ? this.#cut : this.#answered;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }

  async #exportUnderLoad(): Promise<string> {
    const { log } = this.#tenant;
    const { step } = log;
    const reply = await this.#server.ask('GET', tenantPath(log.tenantId, '/export'));
    if (reply === undefined) return 'export under load';
    if (reply.status !== 200) this.#faults.push(`an export was answered with ${reply.status}`);
    else this.#faults.push(...commitFaults(log, reply.body as TenantSnapshot, step));
    return 'export under load';
  }

  /** No client works: the server must agree with the log. */
  async #check(): Promise<void> {
    const { log, commits, outbox } = this.#tenant;
    const snapshot = await this.#export(log.tenantId);
    this.#faults.push(...commitFaults(log, snapshot, log.step), ...leaseFaults(log, snapshot));
    await commits.checkReads(this.#random, snapshot);
    await outbox.checkList(snapshot);
    await this.#copies.check();
    await this.#ledger.check();
    const frozen = [...this.#frozen];
    if (frozen.length > 0) await this.#checkFrozen([this.#random.pick(frozen)]);
    // This check comes last, because it makes commits that were never made before.
    const attempts = [...log.attempts.values()];
    const open = attempts.filter(({ fate }) => fate === 'open');
    const acknowledged = attempts.filter(({ fate }) => fate === 'acknowledged').slice(-REPEATS);
    for (const attempt of [...open, ...acknowledged]) await commits.repeat(attempt);
  }

  /** Delivers the remaining events, and never changes the tenant again. */
  async #freeze(round: number): Promise<void> {
    const { log, outbox } = this.#tenant;
    await outbox.drain();
    const { contentHash } = await this.#export(log.tenantId);
    this.#frozen.set(log.tenantId, contentHash);
    this.#tenant = this.#openTenant(round);
  }

  async #checkFrozen(tenants: readonly (readonly [string, string])[]): Promise<void> {
    for (const [tenantId, contentHash] of tenants) {
      const found = await this.#export(tenantId);
      if (found.contentHash !== contentHash) this.#faults.push(`${tenantId} has changed without a write`);
    }
  }

  async #end(): Promise<void> {
    await this.#tenant.outbox.drain();
    await this.#check();
    await this.#checkFrozen([...this.#frozen]);
    const code = await this.#server.stop();
    if (code !== 0) this.#faults.push(`the server stopped with ${code}`);
    this.#checkFile();
    await this.#sweep();
  }

  #checkFile(): void {
    using database = this.#open();
    const [found] = database.prepare('PRAGMA integrity_check').all();
    if (found?.['integrity_check'] !== 'ok')
      this.#faults.push(`the file is not sound: ${JSON.stringify(found)}`);
    const { lost } = database
      .prepare(
        `SELECT (SELECT count(*) FROM records WHERE space NOT IN (SELECT space FROM spaces))
          + (SELECT count(*) FROM parts WHERE space NOT IN (SELECT space FROM spaces))
          + (SELECT count(*) FROM entries WHERE record NOT IN (SELECT record FROM records)) AS lost`,
      )
      .get() as { lost: number };
    if (lost > 0) this.#faults.push(`${lost} rows belong to no space or no record`);
  }

  /** Spaces whose load died are made as old as they must be to count as abandoned; the next start sweeps them. */
  async #sweep(): Promise<void> {
    const abandoned = () => {
      using database = this.#open();
      const sql = `SELECT count(*) AS count FROM spaces WHERE state <> 'live'`;
      return Number(database.prepare(sql).get()?.['count']);
    };
    {
      using database = this.#open();
      database.exec(`UPDATE spaces SET touched_ms = 0 WHERE state = 'loading'`);
    }
    this.#count('abandoned space', abandoned());
    await this.#server.start();
    // Sweeping continues after ordinary calls: a bounded batch for each turn.
    for (let call = 0; abandoned() > 0 && call < 1_000; call++) await this.#ledger.list();
    if (abandoned() > 0) this.#faults.push('abandoned spaces are left behind');
    await this.#checkFrozen([...this.#frozen]);
    await this.#copies.check();
    await this.#server.stop();
  }

  #count(kind: string, count: number): void {
    this.#answered.set(kind, (this.#answered.get(kind) ?? 0) + count);
  }

  #open(): DatabaseSync {
    return new DatabaseSync(join(this.#options.folder, 'svc.canonical.sqlite'));
  }

  #openTenant(round: number): Tenant {
    const log = new TenantLog(`loop-${this.#options.seed}-${round}`);
    const fault = (text: string) => void this.#faults.push(text);
    const commits = new CommitClients(this.#server, log, fault);
    return { log, commits, outbox: new OutboxClients(this.#server, log, fault) };
  }

  async #export(tenantId: string): Promise<TenantSnapshot> {
    const reply = await this.#server.ask('GET', tenantPath(tenantId, '/export'));
    if (reply?.status !== 200) throw new Error(`an export was answered with ${reply?.status}`);
    return reply.body as TenantSnapshot;
  }
}

interface Tenant {
  readonly log: TenantLog;
  readonly commits: CommitClients;
  readonly outbox: OutboxClients;
}
