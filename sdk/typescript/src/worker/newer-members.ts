import type { ExecutionExternalWorkerLease } from '../generated/models.ts';
import { isRefusedContent } from './repeat.ts';

/** Whether the service has the preview members of leases, waits, checkpoints and completions, and child runs. */
export function knowsSteps({ isLastAttempt }: ExecutionExternalWorkerLease): boolean {
  // A server of release 0.6.0 does not send the member.
  return typeof (isLastAttempt as unknown) === 'boolean';
}

/** Members of a request for a run that a server of release 0.6.0 refuses. */
export interface LeaseMembers {
  readonly handlerVersion?: string;
  readonly checkpointKeys?: readonly string[];
}

/** Sends the members until a server refuses them, and again after a lease shows that its server knows them. */
export class NewerMembers {
  readonly #members: LeaseMembers;
  /** `null`: no server has answered yet. */
  #isKnown: boolean | null = null;

  constructor(members: LeaseMembers) {
    this.#members = members;
  }

  /** The members, if the server is known to take them. */
  get known(): LeaseMembers {
    return this.#isKnown === true ? this.#members : {};
  }

  /** Whether the request that was refused had members. They are sent no more. */
  refused(): boolean {
    const had = Object.keys(this.known).length > 0;
    if (had) this.#isKnown = false;
    return had;
  }

  async leaseWith<Lease extends ExecutionExternalWorkerLease | null>(
    send: (members: LeaseMembers) => Promise<Lease>,
  ): Promise<Lease> {
    const members = this.#isKnown === false ? {} : this.#members;
    try {
      return this.#heard(await send(members));
    } catch (error) {
      if (!isRefusedContent(error) || Object.keys(members).length === 0) throw error;
      const lease = await send({});
      this.#isKnown = false;
      return this.#heard(lease);
    }
  }

  #heard<Lease extends ExecutionExternalWorkerLease | null>(lease: Lease): Lease {
    if (lease !== null) this.#isKnown = knowsSteps(lease);
    return lease;
  }
}
