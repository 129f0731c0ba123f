/** The steps of each client, the same for all. */

export const steps = [
  ['list', '', {}],
  ['call', 'svc_collections_list_v1', {}],
  ['search', 'svc_records_search_v1', { collection: 'notes', query: 'lease' }],
  ['read', 'svc://health/v1', {}],
] as const;

/** A line that a client's process prints. */
export interface StepReport {
  readonly step: 'connect' | (typeof steps)[number][0];
  readonly error?: string;
  readonly tools?: readonly string[];
  readonly text?: string;
  readonly structured?: unknown;
  /** The client has no call for this step. */
  readonly absent?: true;
}

/** The outcome of a client in words. */
export interface Outcome {
  readonly ok: boolean;
  readonly words: string;
}

const ERROR_LENGTH = 160;

/** A step that a client reports as done still fails where the answer is not that of the service. */
export function outcomeOf(reports: readonly StepReport[]): Outcome {
  const named = new Map(reports.map((report) => [report.step, report]));
  const connected = named.get('connect');
  if (connected?.error !== undefined || connected === undefined)
    return { ok: false, words: `does not connect: ${shortened(connected?.error ?? 'it ended')}` };
  const judged = [
    judge('lists', named.get('list'), ({ tools = [] }) =>
      steps.every(([step, name]) => (step !== 'call' && step !== 'search') || tools.includes(name))
        ? `lists ${tools.length} tools`
        : null,
    ),
    judge('calls', named.get('call'), called('calls', 'notes')),
    judge('searches', named.get('search'), called('searches', 'n-1')),
    judge('reads a resource', named.get('read'), ({ absent, text = '' }) => {
      if (absent === true) return 'reads no resources';
      return text.includes('status') ? 'reads a resource' : null;
    }),
  ];
  return { ok: judged.every(({ ok }) => ok), words: judged.map(({ words }) => words).join(', ') };
}

function called(verb: string, part: string): (report: StepReport) => string | null {
  return ({ text = '', structured }) => {
    if (structured !== undefined && structured !== null)
      return JSON.stringify(structured).includes(part) ? `${verb} (structured)` : null;
    return text.includes(part) ? `${verb} (text)` : null;
  };
}

function judge(
  step: string,
  report: StepReport | undefined,
  wordsOf: (report: StepReport) => string | null,
): Outcome {
  const words = report === undefined || report.error !== undefined ? null : wordsOf(report);
  if (words !== null) return { ok: true, words };
  const why = report === undefined ? 'it ended' : (report.error ?? 'the answer is another one');
  return { ok: false, words: `${step} not: ${shortened(why)}` };
}

/** The beginning in one line, without addresses and the mark that separates the cells of a table. */
function shortened(text: string): string {
  return text
    .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, '')
    .replaceAll('|', '/')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, ERROR_LENGTH);
}
