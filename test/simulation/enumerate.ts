import type {
  CanonicalOutboxLease,
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { createWorld, type Options, runToEnd, type SimulatedWorld } from './canonical.ts';
import type { AnyOperation, AnyOutcome } from './canonical-calls.ts';
import { Client, DOCUMENT_TYPE } from './clients.ts';
import { NO_FAULTS } from './faults.ts';
import { Auditor, checkHistories } from './final.ts';
import { must } from './violation.ts';

const EVENT_PROTOCOLS = ['lease', 'ack', 'renew', 'nack', 'last nack', 'replay'] as const;
const COPY_PROTOCOLS = ['export', 'archive export', 'restore', 'archive restore'] as const;
export const PROTOCOLS = ['commit', ...EVENT_PROTOCOLS, ...COPY_PROTOCOLS] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/**
 * - `retry`: the client sends the same again through the other instance, and then through the one that crashed.
 * - `nobody`: the client sends nothing more.
 * - `rival`: the same request is under way through the other instance when the first one crashes.
 */
export const AFTERMATHS = ['retry', 'nobody', 'rival'] as const;
export type Aftermath = (typeof AFTERMATHS)[number];

export interface CrashReport {
  /** False once the operation has fewer awaits than that. */
  readonly crashed: boolean;
  readonly violation: Error | undefined;
}

const TENANT = 'tenant-a';

/**
 * Runs one operation, kills its instance at the await number `point`, and checks everything afterwards. The seed
 * matters where a rival runs beside it.
 */
export async function crashAt(
  protocol: Protocol,
  point: number,
  aftermath: Aftermath,
  options: Options & { readonly seed?: number } = {},
): Promise<CrashReport> {
  // A smaller batch gives a copy more round trips, and so more awaits to crash at.
  const shortPage = isCopying(protocol) ? 1 : 0;
  const world = createWorld(options.seed ?? 1, { ...NO_FAULTS, shortPage }, options);
  const work = world.work(TENANT);
  const actor = new Actor('actor', work);
  let crashed = false;
  await runToEnd(world.scheduler, async () => {
    const step = await actor.prepare(protocol);
    const hasCrashed = armCrash(world, point);
    const rival = aftermath === 'rival' ? new Actor('rival', work).through('B', step) : undefined;
    const first = await actor.through('A', step);
    crashed = hasCrashed();
    world.scheduler.beforeStep = () => undefined;
    must(crashed === (first.kind === 'unknown'), 'answer', `the crash at ${point} ended in ${first.kind}`);
    const second = await rival;
    if (second !== undefined) checkRetry(protocol, step, second);
    if (aftermath === 'retry') {
      for (const instance of ['B', 'A']) checkRetry(protocol, step, await actor.through(instance, step));
    }
    await new Auditor(work, world.oracle).run();
    checkHistories(work);
  });
  return { crashed, violation: world.scheduler.failure };
}

/** Lets instance A go on `point - 1` times, and dies in place of the next. */
function armCrash({ scheduler, cluster }: SimulatedWorld, point: number): () => boolean {
  let awaits = 0;
  scheduler.beforeStep = (process) => {
    if (process.name === 'A' && ++awaits === point) cluster.crash('A', 0);
  };
  return () => awaits >= point;
}

interface Step {
  readonly operation: AnyOperation;
  readonly params: { readonly tenantId: string; readonly eventId?: string };
  readonly body: object | null;
}

function isCopying(protocol: Protocol): protocol is (typeof COPY_PROTOCOLS)[number] {
  return COPY_PROTOCOLS.some((each) => each === protocol);
}

class Actor extends Client {
  through(instance: string, { operation, params, body }: Step): Promise<AnyOutcome> {
    return this.#patiently(instance, { operation, params, body });
  }

  /** An instance that has not come up again yet refuses the connection. */
  async #patiently(instance: string, { operation, params, body }: Step): Promise<AnyOutcome> {
    for (;;) {
      const outcome = await this.sendTo(instance, operation, params, body);
      if (outcome.kind !== 'failed') return outcome;
      await this.pause(2);
    }
  }

  /** Prepares the tenant for the operation, and returns the request to send. */
  async prepare(protocol: Protocol): Promise<Step> {
    const params = this.params();
    await this.#commit(
      commitRequest('before', 'd0', protocol === 'last nack' || protocol === 'replay' ? 1 : null),
    );
    if (protocol === 'commit') {
      return { operation: 'commitCanonicalTransaction', params, body: commitRequest('at-hand', 'd1', null) };
    }
    if (isCopying(protocol)) return this.#copying(protocol);
    const lease = { consumerId: this.name, maxItems: 1, leaseSeconds: 600 };
    if (protocol === 'lease') return { operation: 'leaseCanonicalOutbox', params, body: lease };
    const leased = await this.through('B', { operation: 'leaseCanonicalOutbox', params, body: lease });
    must(leased.kind === 'answer', 'progress', 'there was nothing to lease');
    const [{ event, leaseToken }] = leased.body as readonly CanonicalOutboxLease[] as [CanonicalOutboxLease];
    const eventParams = { ...params, eventId: event.id };
    const release = { leaseToken, retryAfterSeconds: 1, error: 'no' };
    if (protocol === 'ack') {
      return { operation: 'acknowledgeCanonicalOutbox', params: eventParams, body: { leaseToken } };
    }
    if (protocol === 'renew') {
      const body = { leaseToken, leaseSeconds: 900 };
      return { operation: 'renewCanonicalOutboxLease', params: eventParams, body };
    }
    const nack: Step = { operation: 'releaseCanonicalOutbox', params: eventParams, body: release };
    if (protocol !== 'replay') return nack;
    await this.through('B', nack);
    return { operation: 'replayCanonicalOutbox', params: eventParams, body: { resetDeliveryCount: true } };
  }

  /** A tenant with a leased event, and after a copy of it something that a restore takes away. */
  async #copying(protocol: (typeof COPY_PROTOCOLS)[number]): Promise<Step> {
    const params = this.params();
    const step = (operation: AnyOperation, body: object | null): Step => ({ operation, params, body });
    await this.through('B', step('leaseCanonicalOutbox', { consumerId: this.name, leaseSeconds: 600 }));
    if (protocol === 'export') return step('exportCanonicalTenant', null);
    if (protocol === 'archive export') return step('exportTenantArchive', null);
    const archived = protocol === 'archive restore';
    const copy = await this.through(
      'B',
      step(archived ? 'exportTenantArchive' : 'exportCanonicalTenant', null),
    );
    must(copy.kind === 'answer', 'progress', 'the tenant could not be copied');
    await this.#commit(commitRequest('since', 'd2', null));
    return archived
      ? step('restoreTenantArchive', { archive: copy.body, spoiledFrom: 0 })
      : step('restoreCanonicalTenant', { snapshot: copy.body });
  }

  async #commit(body: CanonicalTransactionRequest): Promise<void> {
    const params = this.params();
    const outcome = await this.through('B', { operation: 'commitCanonicalTransaction', params, body });
    must(outcome.kind === 'answer', 'progress', 'nothing could be committed');
    // Clocks differ: what one instance made now may be due a little later for the other.
    await this.work.cluster.scheduler.sleep(this, 10_000);
  }
}

/** A document whose precondition is met once, a fence and an event. */
function commitRequest(
  key: string,
  id: string,
  maxDeliveryAttempts: number | null,
): CanonicalTransactionRequest {
  const document = { tenantId: TENANT, documentType: DOCUMENT_TYPE, id, schemaVersion: 'v1', data: { key } };
  return {
    idempotencyKey: key,
    mutations: [{ operation: 'upsert', document, precondition: { mustNotExist: true } }],
    fences: [
      { operation: 'claim', name: 'slot', value: key, ownerDocumentType: DOCUMENT_TYPE, ownerDocumentId: id },
    ],
    outbox: [{ topic: 'changed', key: id, payload: { key }, maxDeliveryAttempts }],
  };
}

/** Checks that a second sending got a possible answer; the oracle has checked already that it is the right one. */
function checkRetry(protocol: Protocol, step: Step, outcome: AnyOutcome): void {
  const code = outcome.kind === 'refused' ? outcome.error.code : outcome.kind;
  if (protocol === 'commit') {
    must(outcome.kind === 'answer', 'I3 one result', `the commit sent again was answered ${code}`);
    const { documents } = outcome.body as CanonicalTransactionResult;
    must(documents[0]?.revision === 1, 'I3 one result', 'the commit sent again has another result');
  } else if (protocol === 'nack' || protocol === 'last nack') {
    must(code === 'answer' || code === 'lease_stale', 'answer', `the nack sent again was answered ${code}`);
  } else if (protocol === 'replay') {
    const fine = code === 'answer' || code === 'outbox_event_not_dead_lettered';
    must(fine, 'answer', `the replay sent again was answered ${code}`);
  } else {
    must(code === 'answer', 'answer', `${step.operation} sent again was answered ${code}`);
  }
}
