import { admitJob } from '../../../functions/jobs/admit-job.ts';
import { jobScope } from '../../../functions/jobs/job-family.ts';
import { jobView } from '../../../functions/jobs/job-view.ts';
import { cancelJob, getJob, listJobs, resultsOf } from '../../../functions/jobs/read-jobs.ts';
import type { Json } from '../../../functions/kernel/canonical-json.ts';
import { invalidMember } from '../../../functions/kernel/errors.ts';
import type { Run } from '../../../functions/runs/run.ts';
import type { NoteImportJob, NoteImportResult } from '../contracts/generated/models.ts';
import type { NotesHandlers } from '../contracts/handlers.ts';
import type { NotesDependencies } from './dependencies.ts';
import { IMPORT_HANDLER } from './jobs.ts';

const LIST_LIMIT_DEFAULT = 50;

export function importNotes({ jobs, plugin, access }: NotesDependencies): NotesHandlers['importNotes'] {
  return async ({ params: { notebook }, query, body }, { caller, correlationId }) => {
    const { notes, idempotencyKey = null } = body;
    const ids = notes.map(({ id }) => id);
    const repeated = ids.findIndex((id, index) => ids.indexOf(id) < index);
    if (repeated >= 0) throw invalidMember(`/notes/${repeated}/id`, 'must not repeat the id of another note');
    const { run, replayed, headers } = await admitJob(jobs, plugin, {
      operationId: 'importNotes',
      handlerId: IMPORT_HANDLER,
      caller,
      scope: jobScope(query, null, caller.principal),
      space: access.spaceOf(caller, 'note_write'),
      subject: notebook,
      payload: { notebook, notes: notes.map(({ id, text }) => ({ id, text })) },
      requested: notes.length,
      idempotencyKey,
      correlationId,
    });
    return { status: 202, body: importView(run, null, replayed), headers };
  };
}

export function getNoteImport({ jobs, plugin, access }: NotesDependencies): NotesHandlers['getNoteImport'] {
  return async ({ params: { jobId } }, { caller }) => {
    const space = access.spaceOf(caller, 'note_read');
    const run = await getJob(jobs, { plugin, space }, jobId);
    const [result = null] = await resultsOf(jobs, [run]);
    return { status: 200, body: importView(run, result) };
  };
}

export function listNoteImports(dependencies: NotesDependencies): NotesHandlers['listNoteImports'] {
  const { jobs, plugin, access, pageTokens } = dependencies;
  return async ({ query }, { caller }) => {
    const space = access.spaceOf(caller, 'note_read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, notebook: subject = null } = query;
    const of = { list: 'note-imports', space, subject };
    const after = await pageTokens.read(of, query.continuationToken);
    const page = await listJobs(jobs, { plugin, space, subject, limit, after, includeResult });
    const results = includeResult ? await resultsOf(jobs, page.jobs) : [];
    const items = page.jobs.map((run, index) => importView(run, results[index] ?? null));
    return { status: 200, body: { items, continuationToken: await pageTokens.issue(of, page.next) } };
  };
}

export function cancelNoteImport({
  jobs,
  plugin,
  access,
}: NotesDependencies): NotesHandlers['cancelNoteImport'] {
  return async ({ params: { jobId } }, { caller, now }) => {
    const space = access.spaceOf(caller, 'note_write');
    const run = await cancelJob(jobs, { plugin, space }, jobId, now);
    const [result = null] = await resultsOf(jobs, [run]);
    return { status: 200, body: importView(run, result) };
  };
}

function importView(run: Run, result: Json, replayed = false): NoteImportJob {
  const notebook = run.job?.subject ?? '';
  return { ...jobView(run, replayed), notebook, result: result as NoteImportResult | null };
}
