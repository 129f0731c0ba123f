import { operations } from '../../contracts/generated/operations/objects.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { machine } from '../../functions/compose/machine.ts';
import { objectsHandlers } from '../../functions/groups/objects/handlers.ts';
import { createChain } from '../../functions/http/chain.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { createRecordAccess } from '../../functions/identity/record-access.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { bytesPlaceOf } from '../../functions/objects/bytes-place.ts';
import type { ObjectMemory } from '../../functions/objects/object-memory.ts';
import { createObjectParts, objectLimits } from '../../functions/objects/parts.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { limits } from '../conformance/records-stage.ts';

/** Each caller has a space of its own. A call names its caller by `X-Principal`. */
export const CALLERS = ['ada', 'bob', 'kim'];

export interface ObjectsService {
  readonly store: RecordStore;
  readonly blobs: BlobStore;
  readonly bytes: ObjectMemory;
  readonly bytesInFlightMax: number;
}

/** The operations of objects over HTTP, and nothing else of the service. */
export function serveObjects({ store, blobs, bytes, bytesInFlightMax }: ObjectsService): Promise<NodeHost> {
  const open = () => Promise.resolve(store);
  const made = createObjectParts({
    records: createRecordParts({ store: open, world: machine, limits }),
    place: bytesPlaceOf(open, () => Promise.resolve(blobs)),
    limits: objectLimits(null, bytesInFlightMax),
  });
  const access = createRecordAccess({
    grants: CALLERS.map((principal) => ({
      principal,
      space: principal,
      productId: null,
      operations: ['read', 'write'],
    })),
  });
  const pageTokens = new PageTokens(() => Promise.resolve(Buffer.from('test')));
  const chain = createChain({
    operations,
    handlers: objectsHandlers({ ...made, bytes }, access, pageTokens),
    validators: { objects: loadValidators.objects },
    world: machine,
    authenticator: {
      authenticate: (headers) =>
        Promise.resolve({ kind: 'workload', principal: headers.get('x-principal') ?? '' }),
    },
    authorizer: { authorize: () => undefined },
    log: () => undefined,
    rateLimit: null,
  });
  return serveNode(chain, { host: '127.0.0.1', port: 0, world: machine });
}
