import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProblemCode } from '../../contracts/generated/errors.ts';
import { type ProblemExtensions, ServiceError } from '../../functions/kernel/errors.ts';
import type { Operation, Outcome } from '../simulation/canonical-calls.ts';
import type { Instance, Request } from './instance.ts';

/** How a process of its own finds the database. */
export type Database =
  | { readonly provider: 'sqlite'; readonly path: string }
  | {
      readonly provider: 'postgresql';
      readonly options: { readonly connectionString: string; readonly schema: string };
    }
  | { readonly provider: 'mysql'; readonly options: { readonly connectionString: string } }
  | {
      readonly provider: 'firestore';
      readonly options: { readonly projectId: string; readonly emulatorHost: string };
    };

export interface Question {
  readonly number: number;
  readonly request: Request;
}

export type Answer = { readonly number: number } & (
  | { readonly outcome: Outcome }
  | {
      readonly refusal: {
        readonly code: ProblemCode;
        readonly message: string;
        readonly extensions: ProblemExtensions;
      };
    }
  | { readonly fault: string }
);

interface Waiting {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

const program = fileURLToPath(new URL('./instance-program.ts', import.meta.url));

/** A process with connections of its own, spoken to by messages. It can be killed at any moment. */
export class ProcessInstance implements Instance {
  readonly #database: Database;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess;
  #started: Promise<void>;
  #calls = 0;
  #closing = false;
  ready = false;

  constructor(database: Database) {
    this.#database = database;
    this.#child = this.#start();
    this.#started = this.#begun();
  }

  get started(): Promise<void> {
    return this.#started;
  }

  call<Id extends Operation>(request: Request<Id>): Promise<Outcome<Id>> {
    const number = ++this.#calls;
    return new Promise<Outcome<Id>>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      const question: Question = { number, request };
      // A message that cannot be sent goes to a process that has just died, whose end is reported below.
      this.#child.send(question, () => undefined);
    });
  }

  kill(): void {
    if (!this.ready) return;
    this.ready = false;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    this.#started = ended.then(() => {
      this.#child = this.#start();
      return this.#begun();
    });
  }

  async close(): Promise<void> {
    await this.#started;
    this.#closing = true;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #start(): ChildProcess {
    const child = fork(program, [JSON.stringify(this.#database)], { execArgv: [] });
    child.on('message', (answer: Answer | 'ready') => {
      if (answer !== 'ready') this.#settle(answer);
    });
    child.once('exit', (code, signal) => {
      const asked = this.#closing || signal === 'SIGKILL';
      this.ready = false;
      for (const { resolve, reject } of this.#waiting.values()) {
        // The outcome of its running calls is unknown.
        if (asked) resolve({ kind: 'unknown' });
        else reject(new Error(`the instance ended with ${code ?? signal}`));
      }
      this.#waiting.clear();
    });
    return child;
  }

  async #begun(): Promise<void> {
    const first = await Promise.race([
      once(this.#child, 'message').then(() => 'ready' as const),
      once(this.#child, 'exit').then(([code]) => code as number | null),
    ]);
    if (first !== 'ready') throw new Error(`the instance ended with ${first} before it was ready`);
    this.ready = true;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if ('fault' in answer) waiting?.reject(new Error(answer.fault));
    else if ('outcome' in answer) waiting?.resolve(answer.outcome);
    else {
      const { code, message, extensions } = answer.refusal;
      waiting?.resolve({ kind: 'refused', error: new ServiceError(code, message, extensions) });
    }
  }
}
