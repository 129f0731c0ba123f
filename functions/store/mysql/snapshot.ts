import type { Connection, StatementAnswers } from './connection.ts';
import { COMMIT, SNAPSHOT, type Statement } from './statement.ts';

/** A read-only transaction whose snapshot is one moment: for one page, or with `lasting` for any number of reads. */
export class Snapshot {
  readonly #connection: Connection;
  readonly lasting: boolean;
  #begun = false;

  constructor(connection: Connection, lasting = false) {
    this.#connection = connection;
    this.lasting = lasting;
  }

  async send<const S extends readonly Statement[]>(...statements: S): Promise<StatementAnswers<S>> {
    if (this.#begun) return this.#connection.send(...statements);
    this.#begun = true;
    const answers = await this.#connection.send(...SNAPSHOT, ...statements);
    return answers.slice(SNAPSHOT.length) as StatementAnswers<S>;
  }

  /** The last reads of a page, with which a transaction for one page ends. */
  async finish<const S extends readonly Statement[]>(...statements: S): Promise<StatementAnswers<S>> {
    if (this.lasting) return this.send(...statements);
    return (await this.send(...statements, COMMIT)).slice(0, -1) as StatementAnswers<S>;
  }

  /** A single statement sees one moment without a transaction. */
  async alone(single: Statement) {
    return this.lasting ? this.send(single) : this.#connection.send(single);
  }

  /** A page ends without further reads. */
  leave(): void {
    if (!this.lasting) this.end();
  }

  /** Ends the transaction without a wait. */
  end(): void {
    if (this.#begun) this.#connection.leave();
    this.#begun = false;
  }
}
