import type {
  SvcGraphCollectionInspectionResult,
  SvcGraphDoctorResult,
} from '../../../contracts/generated/models.ts';
import type { ExaminedGraph } from '../../graph/examine-graph.ts';
import type { GraphInspection } from '../../graph/inspect-collection-graph.ts';

/** An inspection in the form of the contract. */
export function inspectionResult(
  inspected: GraphInspection,
  generatedAt: string,
): SvcGraphCollectionInspectionResult {
  const { recordTypeCounts, graphIdCounts, namespaceCounts, tenantIdCounts, partitionKeyCounts } = inspected;
  const { nodeTypeCounts, predicateCounts, assertionStatusCounts, reviewStatusCounts } = inspected;
  return {
    ...inspected,
    generatedAt,
    recordTypeCounts: Object.fromEntries(recordTypeCounts),
    graphIdCounts: Object.fromEntries(graphIdCounts),
    namespaceCounts: Object.fromEntries(namespaceCounts),
    tenantIdCounts: Object.fromEntries(tenantIdCounts),
    partitionKeyCounts: Object.fromEntries(partitionKeyCounts),
    nodeTypeCounts: Object.fromEntries(nodeTypeCounts),
    predicateCounts: Object.fromEntries(predicateCounts),
    assertionStatusCounts: Object.fromEntries(assertionStatusCounts),
    reviewStatusCounts: Object.fromEntries(reviewStatusCounts),
  };
}

/** An examination in the form of the contract. */
export function doctorResult(examined: ExaminedGraph, generatedAt: string): SvcGraphDoctorResult {
  return { ...examined, generatedAt, inspection: inspectionResult(examined.inspection, generatedAt) };
}
