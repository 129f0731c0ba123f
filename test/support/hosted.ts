import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose } from '../../functions/compose/compose.ts';
import { type FunctionName, roleOf } from '../../functions/compose/functions.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { type InjectedRequest, inject } from '../../functions/http/host-inject.ts';
import type { World } from '../../functions/kernel/world.ts';

export interface HostedOptions {
  readonly target: FunctionName | 'execution';
  /** By their documented keys. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A module that exports a plugin. */
  readonly plugin?: string;
  /** The folder of a database that others share; by default one of its own. */
  readonly folder?: string;
  readonly world?: World;
  /** In place of `cloudSettings`. */
  readonly base?: Readonly<Record<string, string>>;
}

/** Settings under which the queue is in the cloud, and every handler has a route. */
export const cloudSettings: Readonly<Record<string, string>> = {
  'ExecutionRuntime:Adapter': 'google',
  'ExecutionRuntime:Google:ProjectId': 'demo-svc',
  'ExecutionRuntime:Google:LocationId': 'local',
  'ExecutionRuntime:Google:QueueId': 'svc-runs',
  'ExecutionRuntime:Google:WorkerUrl': 'http://127.0.0.1:9/tasks/execution',
  'ExecutionRuntime:Google:RequireExplicitWorkerRoutes': 'false',
};

/** One function of a deployment with its queue in the cloud, over a database in a folder, called in process. */
export async function hosted({
  target,
  settings = {},
  plugin,
  folder: given,
  world = machine,
  base = cloudSettings,
}: HostedOptions) {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'svc-hosted-'));
  const modules: Record<string, string> = {};
  if (plugin !== undefined) {
    const path = join(folder, 'plugin.mjs');
    writeFileSync(path, plugin);
    modules['ExecutionRuntime:Plugins:0'] = path;
  }
  const all = {
    ...base,
    'Server:DataDirectory': folder,
    'Server:LogLevel': 'error',
    ...modules,
    ...settings,
  };
  const loaded = loadConfiguration({
    host: 'embedded',
    env: {},
    argv: Object.entries(all).map(([key, value]) => `--${key}=${value}`),
    readFile: () => undefined,
  });
  if (loaded.settings === undefined) throw new Error(faultsText(loaded.faults));
  const lines: string[] = [];
  const service = compose(loaded.settings, {
    world,
    ...(target === 'execution' ? {} : { role: roleOf(target) }),
    writeLog: (line) => void lines.push(line),
  });
  const chain = await (target === 'execution' ? service.chain(['execution']) : service.functionChain(target));
  return {
    folder,
    lines,
    call: (request: InjectedRequest) => inject(chain, request),
    async close() {
      await service.close();
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
