import { dropBytes, keepBytes } from './kept-bytes.ts';
import { newTicket, type Ticket } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';
import { OBJECT_INLINE_BYTES_MAX } from './stored-object.ts';

/** The content of an artifact between its admission and its commit. */
export interface StagedArtifact {
  readonly ticket: Ticket;
  /** Bytes that are small enough for the payload of the run; `null` if they are stored separately. */
  readonly inline: Uint8Array | null;
  /** Removes the bytes. Call it where no run was admitted that has the ticket. */
  readonly discard: () => Promise<void>;
}

/**
 * Keeps the bytes of an artifact for the run that will commit it. Upkeep removes them after an hour, unless an active run has the
 * ticket.
 */
export async function stageArtifact(
  parts: ObjectParts,
  space: string,
  bytes: Uint8Array,
): Promise<StagedArtifact> {
  const ticket = newTicket(parts.records.world);
  if (bytes.byteLength <= OBJECT_INLINE_BYTES_MAX)
    return { ticket, inline: bytes, discard: () => Promise.resolve() };
  await keepBytes(parts, space, { ticket, kind: 'artifact', bytes });
  return { ticket, inline: null, discard: () => dropBytes(parts, space, ticket) };
}
