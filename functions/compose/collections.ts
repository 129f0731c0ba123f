import { collections as canonicalCollections } from '../groups/canonical/records.ts';
import { executionCollections } from '../runs/records.ts';
import type { Collection } from '../store/port.ts';

/** All collections of the service: what every provider is opened with, and what Firestore indexes. */
export const serviceCollections: readonly Collection[] = [...canonicalCollections, ...executionCollections];
