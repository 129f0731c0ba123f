import { ServiceError } from '../kernel/errors.ts';
import type { Judge } from './body.ts';
import type { RawRequest, RawResponse } from './message.ts';
import { PERMIT_BYTES, REFUSED_BODY_FACTOR, REFUSED_START_PERMITS } from './rate-limit.ts';

/** Takes further permits of the rate limit for the request under way. */
export type Charge = (permits: number) => void;

/** The request, whose body takes a further permit for each 64 KiB as it arrives. Unread bytes cost nothing. */
export function weighedRequest(request: RawRequest, charge: Charge): RawRequest {
  return { ...request, body: { [Symbol.asyncIterator]: () => weighed(request.body, charge) } };
}

async function* weighed(
  body: AsyncIterable<Uint8Array>,
  charge: Charge,
): AsyncGenerator<Uint8Array, void, undefined> {
  // By hand: leaving a `for await` early would close the connection before it carries the answer.
  const iterator = body[Symbol.asyncIterator]();
  let received = 0;
  let paid = 1;
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return;
    received += step.value.length;
    const due = Math.ceil(received / PERMIT_BYTES) - paid;
    if (due > 0) {
      charge(due);
      paid += due;
    }
    yield step.value;
  }
}

/**
 * Takes the permits of a body only when reading it fails: a body that its handler judges first and accepts costs one. A refused
 * one costs more than others, since workers have many permits and send no such bodies. An accepted one that breaks off costs
 * as much as any other body: its worker needs permits to renew its leases.
 */
export async function readFreeOfCharge<T>(
  request: RawRequest,
  charge: Charge,
  judge: Judge,
  read: (request: RawRequest, judge: Judge) => Promise<T>,
): Promise<T> {
  let owed = 0;
  let factor = REFUSED_BODY_FACTOR;
  const counted = weighedRequest(request, (permits) => {
    owed += permits;
  });
  try {
    return await read(counted, async (beginning) => {
      const isAccepted = await judge(beginning);
      if (isAccepted) factor = 1;
      return isAccepted;
    });
  } catch (error) {
    charge(owed * factor);
    throw error;
  }
}

/** A document that is the same for all callers costs nothing to make, and its size to send. */
export function chargeDocument({ body, shared }: RawResponse, charge: Charge): void {
  if (shared !== true || !(body instanceof Uint8Array)) return;
  const further = Math.ceil(body.length / PERMIT_BYTES) - 1;
  if (further > 0) charge(further);
}

/** A refused start is stored, and so costs a write. */
export function chargeRefusal(error: unknown, charge: Charge): void {
  if (!(error instanceof ServiceError) || error.code === 'queue_full') return;
  if (error.extensions['admission'] !== undefined) charge(REFUSED_START_PERMITS - 1);
}
