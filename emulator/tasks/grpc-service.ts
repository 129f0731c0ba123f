import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import type { Faults } from './faults.ts';
import * as queueCalls from './queue-calls.ts';
import { CallRefusal, grpcCodes } from './refusal.ts';
import * as taskCalls from './task-calls.ts';
import type { TasksState } from './tasks-state.ts';

/** `google.cloud.tasks.v2.CloudTasks` over gRPC. The gRPC server answers absent methods with UNIMPLEMENTED. */

type Call = (state: TasksState, request: object) => Promise<object>;

const calls: Readonly<Record<string, Call>> = {
  CreateQueue: queueCalls.createQueue,
  GetQueue: queueCalls.getQueue,
  ListQueues: queueCalls.listQueues,
  UpdateQueue: queueCalls.updateQueue,
  DeleteQueue: queueCalls.deleteQueue,
  PurgeQueue: queueCalls.purgeQueue,
  PauseQueue: queueCalls.pauseQueue,
  ResumeQueue: queueCalls.resumeQueue,
  CreateTask: taskCalls.createTask,
  GetTask: taskCalls.getTask,
  ListTasks: taskCalls.listTasks,
  DeleteTask: taskCalls.deleteTask,
  RunTask: taskCalls.runTask,
};

// Above the largest task, so that an oversized task is refused for its size and not as a message.
const messageBytesMax = 16 * 1024 * 1024;
const stopTimeoutMs = 2000;

export interface GrpcService {
  readonly port: number;
  /** Accepts no new calls; resolves when those in progress are answered. */
  stop(): Promise<void>;
}

export interface GrpcServiceOptions {
  readonly host: string;
  readonly port: number;
  readonly state: TasksState;
  readonly faults: Faults;
}

export async function startGrpcService(options: GrpcServiceOptions): Promise<GrpcService> {
  const server = new Server({
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.max_send_message_length': messageBytesMax,
  });
  const definition = serviceDefinition();
  const implementation: UntypedServiceImplementation = {};
  for (const [name, call] of Object.entries(calls)) implementation[name] = unary(name, call, options);
  server.addService(definition, implementation);
  const { host } = options;
  const address = host.includes(':') ? `[${host}]` : host;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${address}:${options.port}`, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, stop: () => shutDown(server) };
}

/** The descriptors that ship with the official client; loading the client itself would cost more. */
function serviceDefinition(): ServiceDefinition {
  const client = createRequire(import.meta.url).resolve('@google-cloud/tasks');
  const path = join(dirname(client), '../../protos/protos.json');
  const descriptors = JSON.parse(readFileSync(path, 'utf8')) as Parameters<typeof fromJSON>[0];
  const definitions = fromJSON(descriptors, { longs: Number, enums: String, oneofs: true });
  return definitions['google.cloud.tasks.v2.CloudTasks'] as ServiceDefinition;
}

function unary(name: string, call: Call, options: GrpcServiceOptions): handleUnaryCall<object, object> {
  let count = 0;
  return ({ request }, callback) => {
    count += 1;
    answer(name, call, request, count, options).then(
      (response) => callback(null, response),
      (error: unknown) => callback(statusOf(error)),
    );
  };
}

async function answer(
  name: string,
  call: Call,
  request: object,
  count: number,
  { state, faults }: GrpcServiceOptions,
): Promise<object> {
  const { methods } = faults.switches.refuse ?? {};
  const struck =
    methods === undefined || methods.includes(name) ? faults.strike('refuse', `${name}\n${count}`) : null;
  const refusal = { code: struck?.code, details: 'Refused on purpose by a fault switch.' };
  if (struck !== null && !struck.carriedOut) throw refusal;
  const response = await call(state, request);
  if (struck !== null) throw refusal;
  return response;
}

function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  if (error instanceof CallRefusal) return { code: error.code, details: error.message };
  if (typeof error === 'object' && error !== null && 'code' in error && 'details' in error)
    return error as { code: number; details: string };
  const reason = error instanceof Error ? error.message : String(error);
  return { code: grpcCodes.internal, details: `The emulator failed: ${reason}` };
}

async function shutDown(server: Server): Promise<void> {
  const force = setTimeout(() => server.forceShutdown(), stopTimeoutMs);
  await new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
  });
  clearTimeout(force);
}
