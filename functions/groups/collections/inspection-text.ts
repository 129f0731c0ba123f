import type { InspectedCollection } from '../../collections/inspect-collection.ts';
import type { Anomaly, VectorInspection, WordFrequencies } from '../../collections/rules/inspection.ts';

/** The JSON of an inspection with sorted counts. Written by hand, because objects would move names that look like integers. */
export function inspectionText(
  { collection, inspection }: InspectedCollection,
  generatedAt: string,
  anomalies: readonly Anomaly[],
): string {
  return objectText({
    collection: JSON.stringify(collection.name),
    generatedAt: JSON.stringify(generatedAt),
    policy: JSON.stringify(collection.policy),
    recordCount: String(inspection.recordCount),
    partitionCount: String(inspection.partitionCount),
    typeCounts: countsText(inspection.typeCounts),
    embeddingProviderCounts: countsText(inspection.embeddingProviderCounts),
    embeddingModelCounts: countsText(inspection.embeddingModelCounts),
    rag: JSON.stringify(inspection.rag),
    vectors: `[${inspection.vectors.map((each) => vectorText(each, inspection.recordCount)).join(',')}]`,
    extraVectorFieldCounts: countsText(inspection.extraVectorFieldCounts),
    anomalyCount: String(inspection.anomalyCount),
    returnedAnomalyCount: String(anomalies.length),
    anomalies: JSON.stringify(anomalies),
  });
}

function vectorText(
  { policy, modelCounts, sourceFieldCounts, ...counts }: VectorInspection,
  recordCount: number,
): string {
  const { name, path, dimensions, datatype, distanceFunction, indexType } = policy;
  const facts = {
    field: name,
    path,
    policyDimensions: dimensions,
    datatype,
    distanceFunction,
    indexType,
    recordCount,
  };
  const known = Object.entries({ ...facts, ...counts }).map(([member, value]) => [
    member,
    JSON.stringify(value),
  ]);
  return objectText({
    ...Object.fromEntries(known),
    modelCounts: countsText(modelCounts),
    sourceFieldCounts: countsText(sourceFieldCounts),
  });
}

function countsText(counts: WordFrequencies): string {
  return `{${counts.map(([word, count]) => `${JSON.stringify(word)}:${count}`).join(',')}}`;
}

/** Writes an object with these members. Their names do not look like integers. */
function objectText(members: Readonly<Record<string, string>>): string {
  return `{${Object.entries(members)
    .map(([name, json]) => `"${name}":${json}`)
    .join(',')}}`;
}
