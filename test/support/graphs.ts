import { expect } from 'vitest';
import type {
  GraphJob,
  SvcGraphCollectionExportResult,
  SvcGraphCollectionInspectionResult,
  SvcGraphTraversalResult,
} from '../../contracts/generated/models.ts';
import type { RunningService } from './service.ts';

/** Characters of an answer that an error of a test shows. */
const SHOWN = 500;

/** Graphs of a running service, over its routes. */
export class GraphClient {
  readonly #service: RunningService;

  constructor(service: RunningService) {
    this.#service = service;
  }

  post(name: string, what: string, body: unknown) {
    return this.#service.call({ method: 'POST', path: `/collections/${name}/graph/${what}`, body });
  }

  get(path: string) {
    return this.#service.call({ method: 'GET', path });
  }

  async imported(name: string, envelope: unknown): Promise<GraphJob> {
    const answer = await this.post(name, 'import', { envelope });
    expect(answer.status, answer.body.slice(0, SHOWN)).toBe(202);
    const { statusUri } = answer.json<GraphJob>().admission;
    return (await this.#service.ended({ method: 'GET', path: statusUri })).json<GraphJob>();
  }

  exported(name: string, body: object = {}): Promise<SvcGraphCollectionExportResult> {
    return this.#answered(name, 'export', body);
  }

  walked(name: string, body: object): Promise<SvcGraphTraversalResult> {
    return this.#answered(name, 'traverse', body);
  }

  inspected(name: string, body: object = {}): Promise<SvcGraphCollectionInspectionResult> {
    return this.#answered(name, 'inspect', body);
  }

  async #answered<T>(name: string, what: string, body: object): Promise<T> {
    const answer = await this.post(name, what, body);
    expect(answer.status, answer.body.slice(0, SHOWN)).toBe(200);
    return answer.json<T>();
  }
}

export const graphNode = (id: string, more: object = {}) => ({ id, type: 'person', ...more });
export const graphEdge = (id: string, sourceId: string, targetId: string, more: object = {}) => ({
  id,
  sourceId,
  targetId,
  predicate: 'knows',
  ...more,
});
export const edgeClaim = (id: string, subjectId: string, status: string) => ({
  id,
  subjectId,
  subjectKind: 'edge',
  status,
});
export const graphReview = (id: string, subjectId: string, status: string, more: object = {}) => ({
  id,
  subjectId,
  status,
  reviewer: 'dan',
  ...more,
});

interface Listed {
  readonly id: string;
}

export const inIdOrder = (elements: readonly Listed[] | null | undefined): readonly Listed[] =>
  (elements ?? []).toSorted((a, b) => (a.id < b.id ? -1 : 1));
