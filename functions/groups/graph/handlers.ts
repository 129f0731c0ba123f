import type { GroupHandlers } from '../../http/handler.ts';
import type { GraphDependencies } from './dependencies.ts';
import {
  doctorGraphCollection,
  exportGraphEnvelope,
  inspectGraphCollection,
  preflightGraphImport,
} from './graph-operations.ts';
import {
  cancelGraphJob,
  getGraphJob,
  importGraphEnvelope,
  listGraphJobs,
  startGraphDoctorJob,
  startGraphImportJob,
  startGraphInspectionJob,
} from './job-operations.ts';
import { getGraphProviderShape, listGraphProviderShapes } from './shape-operations.ts';
import { traverseGraph } from './traverse-graph.ts';

/** The operations of the group graph over one store. */
export function graphHandlers(dependencies: GraphDependencies): GroupHandlers<'graph'> {
  return {
    listGraphProviderShapes: listGraphProviderShapes(dependencies),
    getGraphProviderShape: getGraphProviderShape(dependencies),
    importGraphEnvelope: importGraphEnvelope(dependencies),
    exportGraphEnvelope: exportGraphEnvelope(dependencies),
    traverseGraph: traverseGraph(dependencies),
    inspectGraphCollection: inspectGraphCollection(dependencies),
    preflightGraphImport: preflightGraphImport(dependencies),
    doctorGraphCollection: doctorGraphCollection(dependencies),
    startGraphImportJob: startGraphImportJob(dependencies),
    startGraphInspectionJob: startGraphInspectionJob(dependencies),
    startGraphDoctorJob: startGraphDoctorJob(dependencies),
    listGraphJobs: listGraphJobs(dependencies),
    getGraphJob: getGraphJob(dependencies),
    cancelGraphJob: cancelGraphJob(dependencies),
  };
}
