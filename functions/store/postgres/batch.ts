import { Connection, type PoolClient, Query, Result } from 'pg';

/** A statement under the name by which the server remembers its plan; without a name it is planned at each call. */
export interface Prepared {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly (string | number | boolean | null)[];
}

export interface StatementAnswer {
  readonly rows: unknown[];
  readonly command: string;
}

/** How the driver reads the rows of a statement. These members are not in its types. */
interface Shape {
  addFields(fields: unknown): void;
  parseRow(values: unknown): unknown;
}

type Known = Map<string, Shape>;

/** The named statements of a connection. Their columns are known, so later calls do not ask for them. */
const knownOf = new WeakMap<PoolClient, Known>();

/**
 * Statements behind one Sync. The server answers all of them with one write, where the driver's own pipeline costs a Sync and
 * a write for each. After a failure it skips the others, so outside of a transaction all of them take effect or none.
 */
export function runBatch(client: PoolClient, statements: readonly Prepared[]): Promise<StatementAnswer[]> {
  const known = knownOf.get(client) ?? new Map<string, Shape>();
  knownOf.set(client, known);
  return new Promise((resolve, reject) => {
    client.query(
      new Batch(statements, known, (error, answers) => (error ? reject(error) : resolve(answers ?? []))),
    );
  });
}

type Callback = (error: Error | null | undefined, answers?: StatementAnswer[]) => void;

/** The driver's notation of messages, without its socket. */
function collecting(messages: Buffer[]): Connection {
  const wire = Object.create(Connection.prototype) as Connection & Record<string, unknown>;
  wire['_send'] = (message: Buffer) => void messages.push(message);
  return wire;
}

/** A subclass, because the pipeline of the driver takes no other class. */
class Batch extends Query {
  // Replaced by the driver with one that ends its timer.
  declare callback: Callback;
  readonly #statements: readonly Prepared[];
  readonly #known: Known;
  readonly #fresh = new Map<string, Shape>();
  readonly #shapes: Shape[] = [];
  readonly #answers: StatementAnswer[] = [];
  #rows: unknown[] = [];
  #failure: Error | undefined;

  constructor(statements: readonly Prepared[], known: Known, callback: Callback) {
    super('', callback as never);
    this.#statements = statements;
    this.#known = known;
  }

  override submit = ({ stream }: Connection): void => {
    const messages: Buffer[] = [];
    const wire = collecting(messages);
    for (const { name, text } of this.#statements) {
      if (name === undefined || this.#known.has(name) || this.#fresh.has(name)) continue;
      this.#fresh.set(name, this.#newShape());
      // A failed batch may or may not have prepared this statement. To close a statement that does not exist is no error.
      wire.close({ type: 'S', name }, true);
      wire.parse({ name, text, types: [] }, true);
    }
    for (const { name = '', text, values } of this.#statements) {
      if (name === '') wire.parse({ name, text, types: [] }, true);
      wire.bind(
        { portal: '', statement: name, values: values.map((each) => (each === null ? null : String(each))) },
        true,
      );
      const known = this.#known.get(name);
      if (known === undefined) wire.describe({ type: 'P', name: '' }, true);
      this.#shapes.push(known ?? this.#fresh.get(name) ?? this.#newShape());
      wire.execute({ portal: '', rows: '' }, true);
    }
    wire.sync();
    // One buffer: a list of many small ones costs the process more than to copy them.
    stream.write(Buffer.concat(messages));
  };

  handleRowDescription({ fields }: { readonly fields: unknown }): void {
    this.#shape().addFields(fields);
  }

  handleDataRow({ fields }: { readonly fields: unknown }): void {
    try {
      this.#rows.push(this.#shape().parseRow(fields));
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#answers.push({ rows: this.#rows, command: text.split(' ', 1)[0] ?? '' });
    this.#rows = [];
  }

  handleError(error: Error): void {
    this.callback(this.#failure ?? error);
  }

  handleReadyForQuery(): void {
    if (this.#failure !== undefined) {
      this.callback(this.#failure);
      return;
    }
    for (const [name, shape] of this.#fresh) this.#known.set(name, shape);
    this.callback(null, this.#answers);
  }

  #shape(): Shape {
    const shape = this.#shapes[this.#answers.length];
    if (shape === undefined) throw new Error('the server answered more than was asked');
    return shape;
  }

  #newShape(): Shape {
    const { _result: own } = this as unknown as {
      readonly _result: { readonly _types: ConstructorParameters<typeof Result>[1] };
    };
    return new Result('', own['_types']) as unknown as Shape;
  }
}
