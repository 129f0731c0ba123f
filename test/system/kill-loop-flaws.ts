import { join } from 'node:path';
import { root } from './program.ts';

/**
 * Bugs planted in the source of a server as it is loaded, to prove that the campaign finds such. Each is one that the code
 * could well have; none of them shows without a kill, unless said otherwise.
 */
export interface Flaw {
  readonly about: string;
  readonly edits: readonly Edit[];
  readonly settings?: readonly string[];
  /** Where it shows at the end of a campaign only, how long that is. */
  readonly kills?: number;
  /** The faults that the campaign reports for it. */
  readonly shows: RegExp;
}

/** Replaces a text that stands exactly once in the file. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The arguments of Node that plant a flaw. */
export function plantedFlaw(name: string): string[] {
  return ['--import', join(root, `test/system/kill-loop-flaw-hook.ts?flaw=${name}`)];
}

const queue = 'functions/store/sqlite/write-queue.ts';
const transact = 'functions/store/sqlite/transact.ts';
const swap = 'functions/store/sqlite/swap.ts';
const rules = 'functions/groups/canonical/outbox/outbox-rules.ts';

export const FLAWS: Readonly<Record<string, Flaw>> = {
  'early-answers': {
    about: 'commits are answered while their transaction is open; it is committed some groups later',
    edits: [
      {
        file: queue,
        from: `connection.run('BEGIN IMMEDIATE');`,
        to: `if (!connection.isTransaction) connection.run('BEGIN IMMEDIATE');`,
      },
      {
        file: queue,
        from: `      connection.run('COMMIT');`,
        to: `      if ((globalThis.plantedTurns = (globalThis.plantedTurns ?? 0) + 1) % 5 === 0) connection.run('COMMIT');`,
      },
      {
        file: 'functions/store/sqlite/connection.ts',
        from: `    this.run('BEGIN');`,
        to: `    if (this.isTransaction) return read();\n    this.run('BEGIN');`,
      },
    ],
    shows:
      /is lost|is forgotten|given twice|other content|another tenant|neither old nor new|a query met|the probe was/,
  },
  'torn-commits': {
    about: 'a commit is written in two transactions, the receipt and the documents before fences and events',
    settings: ['CanonicalStore:Grouping=false'],
    edits: [
      {
        file: transact,
        from: `    if (!('put' in write)) continue;`,
        to: `    if (!('put' in write)) continue;
    if (write.put.key.collection === 'fences' && connection.isTransaction) {
      connection.run('COMMIT');
      for (const start = performance.now(); performance.now() - start < 8; );
      connection.run('BEGIN IMMEDIATE');
    }`,
      },
    ],
    // A kill has to meet the moment between the two.
    kills: 300,
    // The commits on a restored tenant are torn as well, and show as a tenant that is none of those that it may be.
    shows: /is held by undefined|is lost|neither old nor new/,
  },
  'early-flip': {
    about: 'a restore makes its space the live one before the records are loaded',
    edits: [
      {
        file: swap,
        from: `  const space = await queue.run((connection) => createSpace(connection, scope, 'loading', clock.now()));`,
        to: `  const space = await queue.run((connection) => {
    const made = createSpace(connection, scope, 'loading', clock.now());
    connection.run('INSERT OR REPLACE INTO scopes (kind, name, space) VALUES (?, ?, ?)', scope.kind, scope.name, made);
    return made;
  });`,
      },
    ],
    shows: /neither old nor new|a query met/,
  },
  'unchecked-tokens': {
    about: 'a caller that names a leased event may end its lease with any token; needs no kill',
    edits: [
      {
        file: rules,
        from: `!sameHash(event.leaseTokenHash, sha256(token))`,
        to: `(!sameHash(event.leaseTokenHash, sha256(token)) && event.state !== 'leased')`,
      },
    ],
    // Or another consumer is given what its first one still holds.
    shows: /a replaced token of .* was accepted|was held by two/,
  },
  'forgotten-receipts': {
    about: 'one commit in ten leaves no receipt; needs no kill',
    edits: [
      {
        file: 'functions/groups/canonical/commit/commit.ts',
        from: `return { writes, result: { answeredFromReceipt: false, result }, grows };`,
        to: `return {
    writes: (globalThis.plantedTurns = (globalThis.plantedTurns ?? 0) + 1) % 10 === 0 ? writes.slice(1) : writes,
    result: { answeredFromReceipt: false, result },
    grows,
  };`,
      },
    ],
    // Or its key can be used again, for the same request or another.
    shows:
      /acknowledged commit .* is lost|an export was answered with 500|used for another request, was answered with 200|was answered with 200 and another result/,
  },
  'leases-in-memory': {
    about: 'a lease is written a little after it was answered',
    edits: [
      {
        file: 'functions/store/sqlite/claim.ts',
        from: `      updateRecord(connection, space, row, decision.put);`,
        to: `      const later = decision.put;
      setTimeout(() => {
        try {
          if (!connection.isTransaction) updateRecord(connection, space, row, later);
        } catch {}
      }, 20);`,
      },
    ],
    shows: /was given twice|held by two|is forgotten/,
  },
  'unswept-loads': {
    about: 'a space whose load died is never swept',
    kills: 14,
    edits: [
      {
        file: 'functions/store/sqlite/space.ts',
        from: `state = 'retired' OR (state = 'loading' AND touched_ms < ?)`,
        to: `state = 'retired' OR (state = 'loading' AND touched_ms < -?)`,
      },
    ],
    shows: /abandoned spaces are left behind/,
  },
  'greedy-sweep': {
    about: 'a sweep takes records of the spaces before its own with it',
    edits: [
      {
        file: 'functions/store/sqlite/space.ts',
        from: `(SELECT record FROM records WHERE space = ? LIMIT ?)`,
        to: `(SELECT record FROM records WHERE space <= ? LIMIT ?)`,
      },
    ],
    shows: /is lost|has changed|neither old nor new|not sound|is not what/,
  },
};

/** Bugs that show where the disk is full. */
export const DISK_FLAWS: Readonly<Record<string, Flaw>> = {
  'believed-commits': {
    about: 'a commit that met the full disk is answered as if it had been made',
    edits: [
      {
        file: queue,
        from: `for (const call of calls) call.job.reject(failure);`,
        to: `for (const call of calls) call.answer();`,
      },
    ],
    shows: /acknowledged commit .* is lost/,
  },
  'blind-rollback': {
    about: 'a transaction is rolled back though SQLite has done so already',
    edits: [
      {
        file: queue,
        from: `        connection.rollback();\n      } finally {`,
        to: `        connection.run('ROLLBACK');\n      } finally {`,
      },
    ],
    shows: /got no answer/,
  },
};
