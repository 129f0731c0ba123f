import { expect, test } from 'vitest';
import { admitJob } from '../../functions/jobs/admit-job.ts';
import { countersOf } from '../../functions/runs/active-runs.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { findRun } from '../../functions/runs/read-runs.ts';
import { COUNTERS } from '../../functions/runs/records.ts';
import { openProduct } from '../conformance/execution-fixtures.ts';
import { refusedWith } from '../conformance/execution-stage.ts';
import type { JobsConformance } from '../conformance/jobs-suite.ts';
import type { NoteImportJob } from './contracts/generated/models.ts';
import { NotesAccess, OPEN_SPACE } from './group/access.ts';
import { IMPORT_HANDLER, notesJobs } from './group/jobs.ts';
import { answered, type NotesInstance, NotesStage } from './notes-stage.ts';

export function describeAdmission(conformance: JobsConformance): void {
  describeKeys(conformance);
  describePaths(conformance);
  describeSubjects(conformance);
  describeRefusals(conformance);
  describeQuota(conformance);
}

function describeKeys({ store }: JobsConformance): void {
  test('an import is answered with its receipt before anything is written', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    const answer = await notes.import(6, { key: 'k' });
    const job = answered<NoteImportJob>(answer, 202);
    expect(job).toMatchObject({
      status: 'queued',
      notebook: 'inbox',
      requested: 6,
      attempted: 0,
      result: null,
    });
    expect(job.admission).toMatchObject({ operationId: 'importNotes', status: 'accepted', replayed: false });
    expect(job.admission.statusUri).toBe(`/note-imports/${job.id}`);
    expect(answer.headers).toMatchObject({ location: `/note-imports/${job.id}` });
    expect(await notes.revisions(6)).toEqual([null, null, null, null, null, null]);
  });

  test('the same key answers the first job, and refuses another request', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    const job = await notes.imported(2, { key: 'k' });
    const again = await notes.import(2, { key: 'k' });
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
    expect(answered<NoteImportJob>(again, 202)).toMatchObject({ id: job.id, admission: { replayed: true } });
    const other = await notes.import(3, { key: 'k' });
    expect(answered(other, 409)).toMatchObject({ code: 'idempotency_conflict' });
    expect((await notes.job(job.id)).admission.replayed).toBe(false);
  });

  test('keys of jobs, of runs and of other spaces do not meet', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    const job = await notes.imported(1, { key: 'k' });
    const run = await notes.execution.start({ handlerId: 'test.work', idempotencyKey: 'k' });
    const theirs = await notes.imported(1, { key: 'k', as: 'bob' });
    expect(new Set([job.id, run.id, theirs.id]).size).toBe(3);
    expect((await notes.imported(1, { key: 'k' })).id).toBe(job.id);
  });
}

function describePaths({ store }: JobsConformance): void {
  test('the views of a job may lie below a path of its own', async () => {
    const { engine } = new NotesStage(store()).notes({ concurrencyMax: 0 });
    const plugin = notesJobs({ store: () => Promise.resolve(store()), access: new NotesAccess([]) });
    const { run, headers } = await admitJob(engine.jobs, plugin, {
      operationId: 'importNotes',
      handlerId: IMPORT_HANDLER,
      caller: { kind: 'development', principal: null },
      scope: null,
      space: OPEN_SPACE,
      statusPath: '/tenants/t/note-imports',
      payload: {},
      idempotencyKey: null,
    });
    expect(headers.Location).toBe(`/tenants/t/note-imports/${run.id}`);
    expect((await findRun(engine.runtime, run.id))?.job?.statusPath).toBe('/tenants/t/note-imports');
  });
}

function describeSubjects({ store }: JobsConformance): void {
  test('a key that was used for another subject is refused, also with the same payload', async () => {
    const { engine } = new NotesStage(store()).notes({ concurrencyMax: 0 });
    const plugin = notesJobs({ store: () => Promise.resolve(store()), access: new NotesAccess([]) });
    const admit = (subject: string) =>
      admitJob(engine.jobs, plugin, {
        operationId: 'importNotes',
        handlerId: IMPORT_HANDLER,
        caller: { kind: 'development', principal: null },
        scope: null,
        space: OPEN_SPACE,
        subject,
        payload: {},
        idempotencyKey: 'k',
      });
    const { run } = await admit('inbox');
    expect(await admit('inbox')).toMatchObject({ run: { id: run.id }, replayed: true });
    expect(await refusedWith(admit('outbox'))).toBe('idempotency_conflict');
  });
}

function describeRefusals({ store }: JobsConformance): void {
  test('callers cannot start a handler of the service, and do not see it', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes();
    const unknown = await refusal(notes, 'test.unknown');
    expect(await refusal(notes, IMPORT_HANDLER)).toEqual(unknown);
    const handlers = stage.grants.length > 0 ? notes.engine.runtime.registry.handlers : [];
    expect(handlers.map(({ handlerId }) => handlerId)).toEqual(['test.work']);
    expect(notes.engine.runtime.registry.plugins).toEqual([]);
    const lease = { workerId: 'w', handlerIds: [IMPORT_HANDLER] };
    await stage.notes({ concurrencyMax: 0 }).imported(1);
    expect(await stage.notes({ concurrencyMax: 0 }).execution.lease(lease)).toBeNull();
    expect(answered(await notes.call('GET', '/note-imports'))).toMatchObject({ items: [{ requested: 1 }] });
  });

  test('a stranger and a caller without the right are refused, and nothing is admitted', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    for (const as of ['stranger', 'reader']) expect((await notes.import(1, { as })).status).toBe(403);
    expect((await notes.import(1, { query: '?productId=p' })).status).toBe(400);
    expect(answered(await notes.call('GET', '/note-imports'))).toMatchObject({ items: [] });
  });

  test('with product policies configured, a job needs an allowed product, but no policy needs to list its handler', async () => {
    const stage = new NotesStage(store());
    const policies = [
      { ...openProduct, productId: 'p', allowedHandlerIds: ['test.work'], allowedTenantIds: ['t'] },
    ];
    const notes = stage.notes({ concurrencyMax: 0, policies });
    expect(answered(await notes.import(1), 403)).toMatchObject({ code: 'product_policy_violation' });
    expect((await notes.import(1, { query: '?productId=p&tenantId=u' })).status).toBe(403);
    const { id } = await notes.imported(1, { query: '?productId=p&tenantId=t' });
    const run = await findRun(notes.engine.runtime, id);
    expect(run?.scope).toEqual({ productId: 'p', tenantId: 't', serviceIdentity: 'ada' });
  });
}

async function refusal({ execution }: NotesInstance, handlerId: string): Promise<string> {
  return refusedWith(execution.start({ handlerId }));
}

function describeQuota({ store }: JobsConformance): void {
  for (const counterShards of [1, 3]) {
    const options = { activeJobsMax: 6, jobShareMax: 4, activeRunsMax: 1, counterShards };
    test(`a full share refuses one owner, a full ceiling all, over ${counterShards} counters`, async () => {
      const stage = new NotesStage(store());
      const notes = stage.notes({ concurrencyMax: 0, options });
      // Naming another product gives the caller no second share.
      const query = (product: number) => ({ query: `?productId=p${product}&tenantId=t` });
      const jobs: { readonly as: string; readonly id: string }[] = [];
      for (let at = 0; at < 4; at += 1) jobs.push({ as: 'ada', ...(await notes.imported(1, query(at))) });
      const full = await notes.import(1, { ...query(5), key: 'k' });
      const problem = answered<{ admission: object }>(full, 429);
      expect(problem).toMatchObject({
        code: 'queue_full',
        admission: { status: 'rejected', operationId: 'importNotes' },
      });
      const bob = { as: 'bob' };
      for (let at = 0; at < 2; at += 1) jobs.push({ ...bob, ...(await notes.imported(1, bob)) });
      expect((await notes.import(1, bob)).status).toBe(429);
      // Runs have a ceiling of their own.
      await notes.execution.start({ handlerId: 'test.work' });
      expect(await refusedWith(notes.execution.start({ handlerId: 'test.work' }))).toBe('queue_full');
      expect(await faults(notes)).toEqual([]);
      for (const { id, as } of jobs) answered(await notes.call('DELETE', `/note-imports/${id}`, { as }));
      // The key was not taken.
      expect((await notes.imported(2, { ...query(5), key: 'k' })).admission.replayed).toBe(false);
      expect(await faults(notes)).toEqual([]);
    });
  }

  test('a space without a product has a share too, and its counter goes with its last job', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0, options: { activeJobsMax: 4, jobShareMax: 1 } });
    const { id } = await notes.imported(1);
    expect((await notes.import(1)).status).toBe(429);
    await notes.imported(1, { as: 'bob' });
    const { runtime } = notes.engine;
    const run = await findRun(runtime, id);
    const share = run === undefined ? undefined : countersOf(runtime.options, run)[1]?.key;
    expect(share?.collection).toBe(COUNTERS.name);
    answered(await notes.call('DELETE', `/note-imports/${id}`));
    const keys = share === undefined ? [] : [{ key: share }];
    expect((await stage.store.query(stage.scope, { by: 'keys', keys })).records).toEqual([]);
    await notes.imported(1);
  });
}

async function faults({ engine }: NotesInstance) {
  return (await accountForRuns(engine.runtime)).faults;
}
