import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import type { InputRequest, InputRequests } from './catalog.ts';
import { missingCapability } from './errors.ts';

const TASKS = 'io.modelcontextprotocol/tasks';

/** The capability that a client with support for tasks declares. */
export const taskCapability: JsonMembers = { extensions: { [TASKS]: {} } };

/** Throws unless the client declared all capabilities in `needed`. The error names only the missing ones. */
export function demandCapabilities(needed: JsonMembers, declared: JsonMembers): void {
  const missing = missingOf(needed, declared);
  if (Object.keys(missing).length > 0) throw missingCapability(missing);
}

export function hasTasks(declared: JsonMembers): boolean {
  return Object.keys(missingOf(taskCapability, declared)).length === 0;
}

function missingOf(needed: JsonMembers, declared: JsonMembers): JsonMembers {
  const missing: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(needed)) {
    const has = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (!isJsonObject(has)) missing[name] = part;
    else if (isJsonObject(part)) {
      const below = missingOf(part, has);
      if (Object.keys(below).length > 0) missing[name] = below;
    }
  }
  return missing;
}

/** The capabilities that a client needs to answer the requests. */
export function capabilitiesFor(requests: InputRequests): JsonMembers {
  return Object.fromEntries(Object.values(requests).map(capabilityFor));
}

function capabilityFor({ method, params }: InputRequest): [string, JsonMembers] {
  if (method === 'sampling/createMessage') return ['sampling', {}];
  if (method === 'roots/list') return ['roots', {}];
  // A request without a mode is a form.
  return ['elicitation', params['mode'] === 'url' ? { url: {} } : {}];
}
