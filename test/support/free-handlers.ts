/** Handlers of the jobs of the catalogue that call no provider. */
export const FREE_HANDLERS: readonly string[] = [
  'svc.artifacts.record-ingest',
  'svc.collections.create',
  'svc.collections.delete',
  'svc.graph.doctor',
  'svc.graph.import',
  'svc.graph.inspect',
  'svc.records.batch-upsert',
  'svc.records.collection-import',
];
