import { ToolError } from '../output.ts';

const TENANTS = ['acme', 'globex'];
const ORDERS = 12;
const STATES = ['new', 'paid', 'shipped'];

/** A transaction with an order, its number as a fence, and its event. The same seed sends the same keys, so it may be repeated. */
function order(tenantId: string, number: number) {
  const id = String(1000 + number);
  const status = STATES[number % STATES.length] ?? '';
  return {
    idempotencyKey: `seed-order-${id}`,
    mutations: [
      {
        operation: 'upsert',
        document: {
          tenantId,
          documentType: 'order',
          id,
          schemaVersion: '1',
          data: { status, customer: `customer-${number % 4}`, cents: 1_250 * (number + 1) },
          indexes: { status },
        },
      },
    ],
    fences: [
      {
        operation: 'claim',
        name: 'order-number',
        value: id,
        ownerDocumentType: 'order',
        ownerDocumentId: id,
      },
    ],
    outbox: [{ topic: `order.${status}`, key: id, payload: { order: id } }],
  };
}

export interface ApiKey {
  readonly header: string;
  readonly value: string;
}

/** Commits sample orders of two tenants, with fences and outbox events. */
export async function seed(address: string, key: ApiKey | null): Promise<string> {
  const credential = key === null ? {} : { [key.header]: key.value };
  for (const tenant of TENANTS) {
    for (let number = 0; number < ORDERS; number += 1) {
      const answer = await fetch(`${address}/canonical/tenants/${tenant}/transactions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...credential },
        body: JSON.stringify(order(tenant, number)),
      });
      if (!answer.ok)
        throw new ToolError(`The sample data was not written: ${answer.status} ${await answer.text()}`);
      await answer.body?.cancel().catch(() => undefined);
    }
  }
  return `${TENANTS.length * ORDERS} orders of the tenants ${TENANTS.join(' and ')} are stored`;
}
