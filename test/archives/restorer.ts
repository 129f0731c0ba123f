import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import type { Database } from '../histories/process-instance.ts';
import type { Era } from './eras.ts';
import { openMortal } from './mortal.ts';

/** Restores one archive, and can be killed meanwhile. */
export interface Restorer {
  /** Settles once it has its order, and before that it is not to be killed. */
  readonly begun: Promise<void>;
  /** Begins. Settles with `true` once it was answered, with `false` once the restorer is dead. */
  restore(tenantId: string, era: Era): Promise<boolean>;
  /** Settles when the restorer reaches the requested point, and never if it does not reach it. */
  readonly reached: Promise<void>;
  kill(): Promise<void>;
}

/** The point at which a restorer reports: before a record, counted from 0, or when all are loaded and verified. */
export type Point = number | 'loaded';

export interface Order {
  readonly tenantId: string;
  readonly objects: readonly (readonly [name: string, base64: string])[];
  readonly point: Point | null;
  /** Whether it stays there, to be killed. */
  readonly stays: boolean;
}

const program = fileURLToPath(new URL('./restorer-program.ts', import.meta.url));

/** A process with connections of its own. */
export class ProcessRestorer implements Restorer {
  readonly begun: Promise<void>;
  readonly reached: Promise<void>;
  readonly #child: ChildProcess;
  readonly #begin: () => void;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<unknown>;
  readonly #wish: Pick<Order, 'point' | 'stays'>;

  constructor(database: Database, wish: Pick<Order, 'point' | 'stays'>) {
    this.#wish = wish;
    this.#child = fork(program, [JSON.stringify(database)], { execArgv: [] });
    this.#ended = once(this.#child, 'exit');
    this.#ready = this.#hears('ready');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.begun = promise;
    this.#begin = resolve;
    this.reached = this.#hears('reached');
    // A fault rejects the call that waits for the answer.
    this.reached.catch(() => undefined);
  }

  async restore(tenantId: string, { objects }: Era): Promise<boolean> {
    await this.#ready;
    const order: Order = {
      ...this.#wish,
      tenantId,
      objects: objects.entries().map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]),
    };
    const answered = this.#hears('done').then(() => true);
    this.#child.send(order);
    this.#begin();
    return Promise.race([answered, this.#ended.then(() => false)]);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** A fault is reported as a fault: a restorer that fails by itself has not been killed. */
  #hears(word: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.on('message', (message: string | { readonly fault: string }) => {
        if (message === word) resolve();
        else if (typeof message === 'object') reject(new Error(message.fault));
      });
    });
  }
}

/** In this process, over a store of its own that dies before one of its messages: nothing more is heard of it. */
export class MortalRestorer implements Restorer {
  readonly begun = Promise.resolve();
  readonly reached = new Promise<never>(() => undefined);
  readonly #database: Exclude<Database, { provider: 'sqlite' }>;
  readonly #message: number;

  constructor(database: Exclude<Database, { provider: 'sqlite' }>, message: number) {
    this.#database = database;
    this.#message = message;
  }

  async restore(tenantId: string, { objects }: Era): Promise<boolean> {
    const mortal = await openMortal(this.#database);
    await mortal.store.ping();
    mortal.foretell(this.#message);
    const answered = restoreTenantArchive(mortal.store, tenantId, objects).then(
      () => true,
      () => mortal.died.then(() => false),
    );
    const outcome = await Promise.race([answered, mortal.died.then(() => false)]);
    await mortal.bury();
    return outcome;
  }

  kill(): Promise<void> {
    return Promise.resolve();
  }
}
