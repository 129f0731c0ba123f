import type { RecordParts } from '../../../collections/parts.ts';
import type { StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { RecordAccess } from '../../../identity/record-access.ts';

export type GraphJobKind = 'import' | 'inspect' | 'doctor';

export const GRAPH_HANDLERS: Readonly<Record<GraphJobKind, string>> = {
  import: 'svc.graph.import',
  inspect: 'svc.graph.inspect',
  doctor: 'svc.graph.doctor',
};

export function kindOf(handlerId: string): GraphJobKind {
  const kinds = Object.keys(GRAPH_HANDLERS) as GraphJobKind[];
  return kinds.find((kind) => GRAPH_HANDLERS[kind] === handlerId) ?? 'import';
}

export interface GraphJobsParts {
  /** The layer over the store. */
  readonly records: RecordParts;
  /** Shared with the jobs that write records: their upkeep removes what a crash leaves staged. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result is the artifact of the run. */
  readonly resultBytesMax: number;
}
