import { expect, test } from 'vitest';
import { prune } from '../../functions/runs/maintenance/prune.ts';
import type { JobsConformance } from '../conformance/jobs-suite.ts';
import type { NoteImportPage } from './contracts/generated/models.ts';
import { answered, type NotesInstance, NotesStage } from './notes-stage.ts';

export function describeViews({ store }: JobsConformance): void {
  test('a note is written and read', async () => {
    const notes = new NotesStage(store()).notes();
    const path = '/notebooks/inbox/notes/n0';
    expect((await notes.call('GET', path)).status).toBe(404);
    expect(answered(await notes.call('PUT', path, { body: { text: 'one' } }))).toMatchObject({ revision: 1 });
    answered(await notes.call('PUT', path, { body: { text: 'two' } }));
    expect(answered(await notes.call('GET', path, { as: 'reader' }))).toMatchObject({
      text: 'two',
      revision: 2,
    });
    expect((await notes.call('GET', path, { as: 'bob' })).status).toBe(404);
    expect((await notes.call('PUT', path, { as: 'reader', body: { text: 'x' } })).status).toBe(403);
  });

  test('a job of another space does not exist, and a missing right is refused first', async () => {
    const notes = new NotesStage(store()).notes({ concurrencyMax: 0 });
    const { id } = await notes.imported(1);
    const path = `/note-imports/${id}`;
    expect((await notes.call('GET', path, { as: 'reader' })).status).toBe(200);
    for (const method of ['GET', 'DELETE']) {
      expect((await notes.call(method, path, { as: 'bob' })).status).toBe(404);
      expect((await notes.call(method, path, { as: 'stranger' })).status).toBe(403);
      expect((await notes.call(method, '/note-imports/1', {})).status).toBe(404);
    }
    expect((await notes.call('DELETE', path, { as: 'reader' })).status).toBe(403);
    // A run that is no job has no job view.
    const run = await notes.execution.start({ handlerId: 'test.work' });
    expect((await notes.call('DELETE', `/note-imports/${run.id}`)).status).toBe(404);
    expect(await notes.execution.get(run.id)).toMatchObject({ status: 'queued' });
    expect((await notes.job(id)).status).toBe('queued');
  });

  test('a list shows the jobs of one space, the newest first, page by page', async () => {
    const notes = new NotesStage(store()).notes({ concurrencyMax: 0 });
    const ids: string[] = [];
    for (const notebook of ['a', 'b', 'a', 'a']) ids.unshift((await notes.imported(1, { notebook })).id);
    await notes.imported(1, { as: 'bob', notebook: 'a' });
    expect(await listed(notes, '?limit=3')).toEqual(ids);
    expect(await listed(notes, '?limit=1&notebook=a')).toEqual([ids[0], ids[1], ids[3]]);
    expect(await listed(notes, '?notebook=c')).toEqual([]);
    const { continuationToken } = await page(notes, '?limit=1');
    const elsewhere = await notes.call(
      'GET',
      `/note-imports?notebook=a&continuationToken=${continuationToken}`,
    );
    expect(answered(elsewhere, 400)).toMatchObject({ code: 'continuation_token_invalid' });
    for (const query of ['?limit=0', '?limit=201']) {
      expect((await notes.call('GET', `/note-imports${query}`)).status).toBe(400);
    }
  });

  test('results are listed where they are asked for', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes();
    const { id } = await notes.imported(1);
    await stage.quiet();
    const result = { notebook: 'inbox', written: 1 };
    expect((await notes.job(id)).result).toEqual(result);
    expect((await page(notes, '')).items.map((item) => item.result)).toEqual([null]);
    expect((await page(notes, '?includeResult=true')).items.map((item) => item.result)).toEqual([result]);
    // The run behind it is seen by those who may read runs.
    expect(await notes.execution.get(id)).toMatchObject({
      status: 'succeeded',
      tags: { 'svc.job': 'note-import' },
    });
  });

  test('finished jobs are kept for each owner separately, and beside runs', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    const owners = ['ada', 'bob'].map((as) => ({ as, kept: [] as string[] }));
    for (const { as, kept } of owners) {
      for (let at = 0; at < 3; at += 1) {
        const query = `?productId=p${at}&tenantId=t`;
        const { id } = await notes.imported(1, { as, query });
        answered(await notes.call('DELETE', `/note-imports/${id}`, { as }));
        if (at > 0) kept.unshift(id);
      }
    }
    const run = await notes.execution.start({ handlerId: 'test.work' });
    await notes.execution.cancel(run.id);
    const { runs } = await prune(
      notes.engine.runtime,
      { dryRun: false, retainTerminalRuns: 2 },
      stage.time.now,
    );
    expect(runs).toBe(2);
    for (const { as, kept } of owners) expect(await listed(notes, '', as)).toEqual(kept);
    expect(await notes.execution.get(run.id)).toMatchObject({ status: 'cancelled' });
  });

  test('the key of a pruned job is free again', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes({ concurrencyMax: 0 });
    const { id } = await notes.imported(1, { key: 'k' });
    answered(await notes.call('DELETE', `/note-imports/${id}`));
    await prune(notes.engine.runtime, { dryRun: false, retainTerminalRuns: 0 }, stage.time.now);
    expect((await notes.call('GET', `/note-imports/${id}`)).status).toBe(404);
    const again = await notes.imported(1, { key: 'k' });
    expect([again.admission.replayed, again.id === id]).toEqual([false, false]);
  });
}

async function page(notes: NotesInstance, query: string, as = 'ada'): Promise<NoteImportPage> {
  return answered<NoteImportPage>(await notes.call('GET', `/note-imports${query}`, { as }));
}

/** The ids of all pages. */
async function listed(notes: NotesInstance, query: string, as?: string): Promise<readonly string[]> {
  const found: string[] = [];
  const mark = query === '' ? '?' : '&';
  let token: string | null = null;
  do {
    const next: NoteImportPage = await page(
      notes,
      token === null ? query : `${query}${mark}continuationToken=${token}`,
      as,
    );
    found.push(...next.items.map(({ id }) => id));
    token = next.continuationToken;
  } while (token !== null);
  return found;
}
