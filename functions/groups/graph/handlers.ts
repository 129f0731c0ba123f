import type { GroupHandlers } from '../../http/handler.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import {
  doctorGraphCollection,
  exportGraphEnvelope,
  inspectGraphCollection,
  preflightGraphImport,
} from './graph-operations.ts';
import {
  importGraphEnvelope,
  startGraphDoctorJob,
  startGraphImportJob,
  startGraphInspectionJob,
} from './jobs/admit-graph-job.ts';
import { graphJobViews } from './jobs/job-view.ts';
import { getGraphProviderShape, listGraphProviderShapes } from './shape-operations.ts';
import { traverseGraph } from './traverse-graph.ts';

/** The operations of the group graph over one store. */
export function graphHandlers(family: JobFamily): GroupHandlers<'graph'> {
  const views = graphJobViews(family);
  return {
    listGraphProviderShapes: listGraphProviderShapes(family),
    getGraphProviderShape: getGraphProviderShape(family),
    importGraphEnvelope: importGraphEnvelope(family),
    exportGraphEnvelope: exportGraphEnvelope(family),
    traverseGraph: traverseGraph(family),
    inspectGraphCollection: inspectGraphCollection(family),
    preflightGraphImport: preflightGraphImport(family),
    doctorGraphCollection: doctorGraphCollection(family),
    startGraphImportJob: startGraphImportJob(family),
    startGraphInspectionJob: startGraphInspectionJob(family),
    startGraphDoctorJob: startGraphDoctorJob(family),
    listGraphJobs: listing(family, views),
    getGraphJob: showing(family, views),
    cancelGraphJob: cancelling(family, views),
  };
}
