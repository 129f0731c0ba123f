import { hasActiveRun, TICKET_TAG } from '../../jobs/active-run.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { ObjectParts } from '../../objects/parts.ts';

/** The upkeep of objects: removes bytes that no object uses any more, or that never became an object, after a time. */
export function objectJobs(objects: ObjectParts): JobPlugin {
  return {
    pluginId: 'svc.objects',
    name: 'Objects',
    family: 'object-upkeep',
    statusPath: '/execution/runs',
    handlers: [],
    async maintain({ runtime, isOver }) {
      const { sweepObjects } = await import('../../objects/sweep-objects.ts');
      const isRunActive = (ticket: string) => hasActiveRun(runtime, TICKET_TAG, ticket);
      return { removedObjectBytes: await sweepObjects(objects, { isOver, isRunActive }) };
    },
  };
}
