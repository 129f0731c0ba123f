import type { Settings } from '../config/table.ts';
import { type Lazy, lazy } from '../kernel/lazy.ts';
import type { World } from '../kernel/world.ts';
import type { ProcessQueue, RunQueue } from '../queue/port.ts';
import { storeChanges } from '../runs/assemble.ts';
import { noticeSender } from '../runs/notices.ts';
import type { RecordStore } from '../store/port.ts';

/** The queues of this process. */
export interface Dispatch {
  /** Waiting calls of this process wait here, also with a cloud queue. */
  readonly local: ProcessQueue;
  /** `null`: the local queue takes the messages. */
  readonly cloud: CloudDispatch | null;
}

interface CloudDispatch {
  readonly queue: RunQueue;
  /** Whether the handler has a route to a worker. */
  reaches(handlerId: string, kind: 'process' | 'external'): boolean;
  close(): Promise<void>;
}

export async function composeQueue(
  settings: Settings,
  world: World,
  opened: () => RecordStore | undefined,
): Promise<Dispatch> {
  const { LocalQueue } = await import('../queue/local/local-queue.ts');
  const local = new LocalQueue({
    world,
    recheckMs: settings.execution.recheckSeconds * 1_000,
    mayHaveChanged: storeChanges(opened),
    unclaimed: noticeSender(opened),
  });
  if (settings.execution.adapter === 'local') return { local, cloud: null };
  return { local, cloud: await cloudDispatch(settings, world, (handlerId) => local.hint(handlerId)) };
}

async function cloudDispatch(
  settings: Settings,
  { clock }: World,
  hint: (handlerId: string) => void,
): Promise<CloudDispatch> {
  const [{ CloudTasksQueue }, { workerRoutes }] = await Promise.all([
    import('../queue/cloud-tasks/cloud-tasks-queue.ts'),
    import('../queue/cloud-tasks/routes.ts'),
  ]);
  const external = new Set(settings.execution.externalHandlers.map(({ HandlerId }) => HandlerId));
  const routes = workerRoutes(routeRules(settings));
  const tasks = taskService(settings);
  const routeOf = (handlerId: string) => routes(handlerId, external.has(handlerId) ? 'external' : 'process');
  const queue = new CloudTasksQueue({ tasks: tasks.get, routeOf, clock, hint });
  return {
    queue,
    reaches: (handlerId, kind) => routes(handlerId, kind) !== null,
    close: tasks.close,
  };
}

/** Loads the large client library with the first message. */
function taskService({ cloudTasks, firestore }: Settings): Lazy<TaskService> {
  return lazy(
    async () => {
      const { openTaskService } = await import('../queue/cloud-tasks/client.ts');
      const { emulatorHost } = cloudTasks;
      return openTaskService({
        projectId: cloudTasks.projectId ?? firestore.projectId ?? '',
        ...(emulatorHost === null ? {} : { emulatorHost }),
      });
    },
    (service) => service.close(),
  );
}

type TaskService = Awaited<ReturnType<typeof import('../queue/cloud-tasks/client.ts')['openTaskService']>>;

function routeRules({ cloudTasks, firestore }: Settings) {
  return {
    defaults: {
      // Defaults to the project of the database.
      projectId: cloudTasks.projectId ?? firestore.projectId,
      locationId: cloudTasks.locationId,
      queueId: cloudTasks.queueId,
      workerUrl: cloudTasks.workerUrl,
      serviceAccountEmail: cloudTasks.serviceAccountEmail,
      audience: cloudTasks.oidcAudience,
    },
    explicit: cloudTasks.requireExplicitWorkerRoutes,
    overrides: cloudTasks.workerRoutes.map((route) => ({
      // The checks of the settings guarantee an id.
      handlerId: route.HandlerId ?? '',
      ...(route.ProjectId === undefined ? {} : { projectId: route.ProjectId }),
      ...(route.LocationId === undefined ? {} : { locationId: route.LocationId }),
      ...(route.QueueId === undefined ? {} : { queueId: route.QueueId }),
      ...(route.WorkerUrl === undefined ? {} : { workerUrl: route.WorkerUrl }),
      ...(route.ServiceAccountEmail === undefined ? {} : { serviceAccountEmail: route.ServiceAccountEmail }),
      ...(route.OidcAudience === undefined ? {} : { audience: route.OidcAudience }),
    })),
  };
}
