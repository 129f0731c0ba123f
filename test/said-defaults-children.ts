import { randomUUID } from 'node:crypto';
import type { RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of the service if members of requests on child runs are absent. */

interface Run {
  readonly id: string;
}

interface Event {
  readonly type: string;
}

interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
}

export const childrenAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'ExecutionChildRunRequest.cancelWithParent': {
    other: true,
    async of(call, added) {
      const handlerId = 'invoice.render';
      const workerId = randomUUID();
      const parent = (await call('POST', '/execution/runs', { handlerId, payload: { workerId } }))
        .body as Run;
      const wish = { workerId, handlerIds: [handlerId], runId: parent.id };
      const { leaseKey, leaseToken } = (await call('POST', '/execution/workers/leases', wish)).body as Lease;
      const child = { handlerId, ...added };
      const start = { leaseKey, leaseToken, workerId, writeId: 'w', child };
      const { runId } = (await call('POST', '/execution/workers/leases/children', start)).body as {
        readonly runId: string;
      };
      await call('DELETE', `/execution/runs/${parent.id}`);
      // A read of the run itself would wait until it has ended.
      const history = (await call('GET', `/execution/runs/${runId}/history`)).body as readonly Event[];
      await call('DELETE', `/execution/runs/${runId}`);
      return history.map(({ type }) => type);
    },
  },
};
