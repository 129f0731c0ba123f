import type { Json, JsonObject } from '../../kernel/canonical-json.ts';

/** Members of graph models by model. Callers may also spell them with underscores: `source_id`. */
const graphMembers = {
  scope: ['graphId', 'tenantId', 'partitionKey'],
  span: ['sourceRef', 'charStart', 'charEnd', 'textHash'],
  node: ['sourceSpans', 'assertionIds', 'createdAt', 'updatedAt'],
  edge: ['sourceId', 'targetId', 'sourceSpans', 'assertionIds', 'createdAt', 'updatedAt'],
  assertion: ['subjectId', 'subjectKind', 'sourceSpans', 'createdAt'],
  review: ['subjectId', 'subjectKind', 'createdAt'],
  projection: ['startNodeIds', 'createdAt'],
  profile: [
    'maxDepth',
    'nodeTypes',
    'edgeLimit',
    'includeStart',
    'reviewStatuses',
    'assertionStatuses',
    'requireSourceGrounding',
    'minScore',
    'includePathExplanations',
  ],
} as const;

export type GraphModel = keyof typeof graphMembers;

/** Renames members to the names of the contract. If a member has both names, the value under the contract's name is kept. */
export function withContractNames(given: JsonObject, model: GraphModel): JsonObject {
  const names = namesOf[model];
  const entries = Object.entries(given).flatMap(([name, value]): [string, Json][] => {
    const contractName = names.get(name) ?? name;
    return contractName !== name && Object.hasOwn(given, contractName) ? [] : [[contractName, value]];
  });
  return Object.fromEntries(entries);
}

const namesOf = Object.fromEntries(
  Object.entries(graphMembers).map(([model, names]) => [
    model,
    new Map(names.map((name) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name])),
  ]),
) as unknown as Readonly<Record<GraphModel, ReadonlyMap<string, string>>>;
