import type { WorkerRoute } from './message.ts';

/** Default route; a handler's own route may replace its parts. */
export interface RouteDefaults {
  readonly projectId: string | null;
  readonly locationId: string | null;
  readonly queueId: string | null;
  readonly workerUrl: string | null;
  readonly serviceAccountEmail: string | null;
  readonly audience: string | null;
}

interface RouteOverride extends Partial<RouteDefaults> {
  readonly handlerId: string;
}

export interface RouteRules {
  readonly defaults: RouteDefaults;
  readonly overrides: readonly RouteOverride[];
  /** Whether external handlers need routes of their own. Handlers of the service use the default. */
  readonly explicit: boolean;
}

/** Returns the route of a handler; `null` if it is incomplete. */
export function workerRoutes({ defaults, overrides, explicit }: RouteRules) {
  const own = new Map(overrides.map((override) => [override.handlerId, override]));
  return (handlerId: string, kind: 'process' | 'external'): WorkerRoute | null => {
    const override = own.get(handlerId);
    if (override === undefined && explicit && kind === 'external') return null;
    const route = { ...defaults, ...given(override) };
    const { projectId, locationId, queueId, workerUrl: url, serviceAccountEmail } = route;
    if (projectId === null || locationId === null || queueId === null || url === null) return null;
    const queue = `projects/${projectId}/locations/${locationId}/queues/${queueId}`;
    // A token is valid for one worker, so the default audience does not apply to another URL.
    const audience = override?.audience ?? (override?.workerUrl === undefined ? defaults.audience : null);
    return { queue, url, serviceAccountEmail, audience };
  };
}

function given(override: RouteOverride | undefined): Partial<RouteDefaults> {
  return Object.fromEntries(Object.entries(override ?? {}).filter(([, value]) => value !== undefined));
}
