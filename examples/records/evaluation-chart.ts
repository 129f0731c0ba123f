import type { RetrievalEvaluationComparisonResult } from '../../sdk/typescript/src/index.ts';

const measures = [
  ['Hit rate', 'hitRate'],
  ['Reciprocal rank', 'meanReciprocalRank'],
  ['Precision', 'meanPrecisionAtK'],
  ['Recall', 'meanRecallAtK'],
  ['nDCG', 'meanNdcgAtK'],
  ['Hard negatives', 'hardNegativeHitRate'],
] as const;

const [WIDTH, LABEL, BAR, GAP, UNIT, TOP] = [720, 130, 14, 12, 460, 44];
const shades = ['#9aa7b4', '#2f6f9f', '#c7894a', '#5b8c5a'];

/** The measures of each variant as bars, in an SVG picture: the same report gives the same text. */
export function chartOf({ variants }: RetrievalEvaluationComparisonResult): string {
  const group = variants.length * (BAR + 2) + GAP;
  const height = TOP + measures.length * group + 8;
  const legend = variants.map(({ id }, at) => {
    const x = LABEL + at * 180;
    return `  <rect x="${x}" y="12" width="12" height="12" fill="${shades[at % shades.length]}"/>\n  <text x="${x + 18}" y="23">${escaped(id)}</text>`;
  });
  const bars = measures.flatMap(([label, name], row) => {
    const from = TOP + row * group;
    const middle = from + (group - GAP) / 2 + 4;
    return [
      `  <text x="${LABEL - 10}" y="${middle}" text-anchor="end">${label}</text>`,
      ...variants.map(({ metrics }, at) => {
        const y = from + at * (BAR + 2);
        const width = Math.round(metrics[name] * UNIT);
        return `  <rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" fill="${shades[at % shades.length]}"/>\n  <text x="${LABEL + width + 6}" y="${y + 12}">${metrics[name].toFixed(2)}</text>`;
      }),
    ];
  });
  const names = variants.map(({ id }) => escaped(id)).join(' and ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="12">`,
    `  <title>Measures of ${names}</title>`,
    `  <rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...legend,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
