import type { WorkerRoute } from './message.ts';

/** Where deliveries go where no handler says otherwise, and what a handler's own route may replace. */
export interface RouteDefaults {
  readonly projectId: string | null;
  readonly locationId: string | null;
  readonly queueId: string | null;
  readonly workerUrl: string | null;
  readonly serviceAccountEmail: string | null;
  readonly audience: string | null;
}

export interface RouteOverride extends Partial<RouteDefaults> {
  readonly handlerId: string;
}

export interface RouteRules {
  readonly defaults: RouteDefaults;
  readonly overrides: readonly RouteOverride[];
  /** Whether the handlers of workers outside need a route each; those of this service go where the default says. */
  readonly explicit: boolean;
}

/** Tells the route of a handler; `null` where something is missing of it. */
export function workerRoutes({ defaults, overrides, explicit }: RouteRules) {
  const own = new Map(overrides.map((override) => [override.handlerId, override]));
  return (handlerId: string, kind: 'process' | 'external'): WorkerRoute | null => {
    const override = own.get(handlerId);
    if (override === undefined && explicit && kind === 'external') return null;
    const told = { ...defaults, ...given(override) };
    const { projectId, locationId, queueId, workerUrl: url, serviceAccountEmail } = told;
    if (projectId === null || locationId === null || queueId === null || url === null) return null;
    const queue = `projects/${projectId}/locations/${locationId}/queues/${queueId}`;
    // A token for one worker is none for another: the audience of the default is not that of another address.
    const audience = override?.audience ?? (override?.workerUrl === undefined ? defaults.audience : null);
    return { queue, url, serviceAccountEmail, audience };
  };
}

function given(override: RouteOverride | undefined): Partial<RouteDefaults> {
  return Object.fromEntries(Object.entries(override ?? {}).filter(([, value]) => value !== undefined));
}
