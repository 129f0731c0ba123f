import type { ReadLanes } from '../../collections/read-lanes.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { refusedBy } from '../../providers/refusal.ts';
import { runComparison, runEvaluation } from '../../retrieval/evaluation/run-evaluation.ts';
import { scoredCandidatesMax } from '../../retrieval/parts.ts';
import { retrieve } from '../../retrieval/retrieve.ts';
import { builtInProfiles } from '../../retrieval/rules/built-in-profiles.ts';
import { envelopeJson } from '../../retrieval/rules/envelope.ts';
import { readComparison, readEvaluation } from '../../retrieval/rules/evaluation/request.ts';
import { describedProfile } from '../../retrieval/rules/profiles.ts';
import { readRetrieval } from '../../retrieval/rules/request.ts';
import type { RetrievalLayers } from './jobs/job-view.ts';
import { judgeRerankers, retrievalsOf } from './library/judge-rerankers.ts';

type Handlers = GroupHandlers<'retrieval'>;
type AskedLayers = Pick<RetrievalLayers, 'retrieval' | 'access' | 'rerankAccess'>;

export function listRetrievalProfiles(): Handlers['listRetrievalProfiles'] {
  return async () => ({ status: 200, body: builtInProfiles.map(describedProfile) });
}

export function retrieveRecords({ retrieval, access, rerankAccess }: AskedLayers): Handlers['retrieve'] {
  return async ({ body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    judgeRerankers(rerankAccess, { caller: context.caller, space }, [body]);
    const asked = readRetrieval(body, scoredCandidatesMax(retrieval));
    const { results, trace } = await retrieve(retrieval, space, asked, context).catch((error: unknown) => {
      throw refusedBy(error);
    });
    return { status: 200, body: new JsonText(envelopeJson(asked.query, results, trace)) };
  };
}

export function evaluateRetrieval(own: AskedLayers, evaluations: ReadLanes): Handlers['evaluateRetrieval'] {
  return async ({ body }, context) => {
    const space = own.access.spaceOf(context.caller, 'read');
    judgeRerankers(own.rerankAccess, { caller: context.caller, space }, retrievalsOf(body));
    const evaluation = readEvaluation(body);
    const report = await inPlace(evaluations, space, context, () =>
      runEvaluation(own.retrieval, space, evaluation, context),
    );
    return { status: 200, body: report };
  };
}

export function compareRetrievalEvaluations(
  own: AskedLayers,
  evaluations: ReadLanes,
): Handlers['compareRetrievalEvaluations'] {
  return async ({ body }, context) => {
    const space = own.access.spaceOf(context.caller, 'read');
    judgeRerankers(own.rerankAccess, { caller: context.caller, space }, retrievalsOf(body));
    const comparison = readComparison(body);
    const report = await inPlace(evaluations, space, context, () =>
      runComparison(own.retrieval, space, comparison, context),
    );
    return { status: 200, body: report };
  };
}

/** Waits for a place. Each space has a share of the places, so its evaluations leave time to other spaces. */
async function inPlace<Report>(
  evaluations: ReadLanes,
  space: string,
  { signal }: CallContext,
  work: () => Promise<Report>,
): Promise<Report> {
  const taken = evaluations.run(
    space,
    (lane) => {
      lane.take();
      return work();
    },
    { signal },
  );
  return taken.catch((error: unknown) => {
    throw refusedBy(error);
  });
}
