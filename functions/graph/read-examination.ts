import { checkCollectionName } from '../collections/rules/policy.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { GraphChoice } from './graph-query.ts';
import {
  ANOMALIES_DEFAULT,
  ANOMALIES_MAX,
  GRAPH_RECORDS_MAX,
  TARGET_RECORDS_DEFAULT,
} from './rules/limits.ts';
import { readSeedPointers } from './rules/seeds.ts';

export interface GraphExamination extends GraphChoice {
  readonly targetCollection?: string | null;
  readonly targetPartitionKeys?: readonly string[] | null;
  readonly seedJsonPointers?: readonly string[] | null;
  readonly maxGraphRecords?: number | null;
  readonly maxTargetRecords?: number | null;
  readonly allowPartialGraph?: boolean | null;
  readonly includeAnomalies?: boolean | null;
  readonly anomalyLimit?: number | null;
}

/** A checked examination. */
export interface ReadExamination {
  readonly maxRecords: number;
  readonly anomalyLimit: number;
  /** `null`: the request names no collection with seeds. */
  readonly target: {
    readonly name: string;
    readonly partitionKeys: readonly string[] | null;
    readonly pointers: readonly string[];
    readonly maxRecords: number;
  } | null;
}

/** Throws `validation_failed` naming the member. */
export function readExamination(request: GraphExamination): ReadExamination {
  const { targetCollection, targetPartitionKeys } = request;
  const pointers = readSeedPointers(request.seedJsonPointers);
  const maxTargetRecords = request.maxTargetRecords ?? TARGET_RECORDS_DEFAULT;
  const name = targetCollection?.trim() ?? '';
  return {
    maxRecords: readMaxRecords(request.maxGraphRecords, '/maxGraphRecords'),
    anomalyLimit: readAnomalyLimit(request.anomalyLimit),
    target:
      name === ''
        ? null
        : {
            name: checkCollectionName(name, '/targetCollection'),
            partitionKeys: (targetPartitionKeys ?? []).length === 0 ? null : (targetPartitionKeys ?? null),
            pointers,
            maxRecords: readMaxRecords(maxTargetRecords, '/maxTargetRecords'),
          },
  };
}

/** Throws `validation_failed` naming `pointer`. */
export function readMaxRecords(given: number | null | undefined, pointer = '/maxRecords'): number {
  const most = given ?? GRAPH_RECORDS_MAX;
  if (!Number.isSafeInteger(most) || most < 1 || most > GRAPH_RECORDS_MAX)
    throw invalidMember(pointer, `must be a whole number from 1 to ${GRAPH_RECORDS_MAX}`);
  return most;
}

/** Throws `validation_failed` naming `/anomalyLimit`. */
export function readAnomalyLimit(given: number | null | undefined): number {
  const limit = given ?? ANOMALIES_DEFAULT;
  if (!Number.isSafeInteger(limit) || limit < 0 || limit > ANOMALIES_MAX)
    throw invalidMember('/anomalyLimit', `must be a whole number from 0 to ${ANOMALIES_MAX}`);
  return limit;
}
