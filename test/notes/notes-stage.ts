import { randomUUID } from 'node:crypto';
import { createChain, type HandlerMap } from '../../functions/http/chain.ts';
import { type InjectedResponse, inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { Stage } from '../conformance/execution-stage.ts';
import { ExecutionClient, type InstanceOptions } from '../support/execution.ts';
import type { NoteImportJob } from './contracts/generated/models.ts';
import { operations } from './contracts/generated/operations.ts';
import { loadValidators } from './contracts/generated/validators/load.ts';
import { NotesAccess, type NotesGrant, type NotesRight } from './group/access.ts';
import { notesHandlers } from './group/handlers.ts';
import type { ImportParts } from './group/import-notes.ts';
import { notesJobs } from './group/jobs.ts';

const PRINCIPAL_HEADER = 'x-principal';

export interface NotesOptions extends InstanceOptions {
  readonly grants?: readonly NotesGrant[];
  readonly beforeBatch?: NonNullable<ImportParts['beforeBatch']>;
}

/** A deployment with the fixture group: each instance serves its operations and may execute its jobs. */
export class NotesStage extends Stage {
  /** A space of this test alone: the database may hold others. */
  readonly space = randomUUID();
  readonly grants: readonly NotesGrant[] = [
    { principal: 'ada', space: this.space, rights: ['note_read', 'note_write'] },
    { principal: 'reader', space: this.space, rights: ['note_read'] },
    { principal: 'bob', space: `${this.space}-other`, rights: ['note_read', 'note_write'] },
  ];

  notes({ grants = this.grants, beforeBatch, ...options }: NotesOptions = {}): NotesInstance {
    const access = new NotesAccess(grants);
    const store = () => Promise.resolve(this.store);
    const plugin = notesJobs({ store, access, ...(beforeBatch === undefined ? {} : { beforeBatch }) });
    const instance = this.instance({ ...options, jobs: [plugin] });
    const pageTokens = new PageTokens(() => Promise.resolve(Buffer.from(this.space)));
    const handlers = notesHandlers({ store, access, jobs: instance.jobs, plugin, pageTokens });
    const chain = chainOf(this, handlers, access);
    return new NotesInstance(chain, new ExecutionClient(instance));
  }
}

function chainOf({ world }: Stage, handlers: HandlerMap, access: NotesAccess): Chain {
  return createChain({
    operations,
    handlers,
    validators: loadValidators,
    world,
    authenticator: {
      authenticate: async (headers): Promise<Caller> => ({
        kind: 'workload',
        principal: headers.get(PRINCIPAL_HEADER) ?? 'ada',
      }),
    },
    authorizer: {
      authorize: (caller, { accessOperation }) => {
        access.spaceOf(caller, accessOperation as NotesRight);
      },
    },
    log: () => undefined,
    rateLimit: null,
    validateResponses: true,
  });
}

interface Call {
  readonly as?: string;
  readonly body?: unknown;
  readonly key?: string;
}

export class NotesInstance {
  readonly #chain: Chain;
  /** The operations of runs over the same runtime. */
  readonly execution: ExecutionClient;

  constructor(chain: Chain, execution: ExecutionClient) {
    this.#chain = chain;
    this.execution = execution;
  }

  get engine() {
    return this.execution.instance;
  }

  call(method: string, path: string, { as = 'ada', body, key }: Call = {}): Promise<InjectedResponse> {
    const headers = {
      [PRINCIPAL_HEADER]: as,
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    };
    return inject(this.#chain, { method, path, headers, ...(body === undefined ? {} : { body }) });
  }

  import(count: number, call: Call & { readonly notebook?: string; readonly query?: string } = {}) {
    const { notebook = 'inbox', query = '' } = call;
    return this.call('POST', `/notebooks/${notebook}/import/jobs${query}`, {
      body: { notes: notesOf(count) },
      ...call,
    });
  }

  async imported(count: number, call: Parameters<NotesInstance['import']>[1] = {}): Promise<NoteImportJob> {
    return answered<NoteImportJob>(await this.import(count, call), 202);
  }

  async job(id: string, as = 'ada'): Promise<NoteImportJob> {
    return answered<NoteImportJob>(await this.call('GET', `/note-imports/${id}`, { as }));
  }

  async revisions(count: number, notebook = 'inbox'): Promise<readonly (number | null)[]> {
    const answers = await Promise.all(
      notesOf(count).map(({ id }) => this.call('GET', `/notebooks/${notebook}/notes/${id}`)),
    );
    return answers.map((answer) =>
      answer.status === 404 ? null : answer.json<{ revision: number }>().revision,
    );
  }
}

export function notesOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({ id: `n${index}`, text: `Note ${index}` }));
}

/** The body of an answer of this status; fails where it has another. */
export function answered<Body>(answer: InjectedResponse, status = 200): Body {
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${answer.body}`);
  return answer.json<Body>();
}
