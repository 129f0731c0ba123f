import type { ToolMap } from '../../functions/mcp/service/tool-map.ts';
import type { OperationCase } from './service-cases.ts';

type Members = Readonly<Record<string, unknown>>;

/** The arguments of the tool for the request over REST, each taken from its place in it. */
export function argumentsOf(map: ToolMap | undefined, { path, query, body }: OperationCase): Members {
  const request = { ...path, ...query, ...body } as Members;
  const taken = (pointers: Readonly<Record<string, string>> = {}): Members =>
    Object.fromEntries(
      Object.entries(pointers).flatMap(([name, pointer]) => {
        const value = pointer
          .slice(1)
          .split('/')
          .reduce<unknown>((at, member) => (at as Members | undefined)?.[member], request);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  const advanced = taken(map?.advanced);
  return { ...taken(map?.takes), ...(Object.keys(advanced).length > 0 ? { advanced } : {}) };
}
