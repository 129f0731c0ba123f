/** Faults of a Dockerfile that a release must not have. */
export function imageFileFaults(text: string): string[] {
  const instructions = instructionsOf(text);
  const last = (name: string) => instructions.findLast((each) => each.name === name)?.words;
  const faults: string[] = [];
  const base = instructions.find(
    ({ name, words }) => name === 'ARG' && words.startsWith('NODE_IMAGE'),
  )?.words;
  if (
    base === undefined ||
    instructions.some(({ name, words }) => name === 'FROM' && words !== '${NODE_IMAGE}')
  )
    faults.push('the base is not that of the argument NODE_IMAGE');
  if (/:latest\b/.test(text) || /^NODE_IMAGE=[^:]+$/.test(base ?? ''))
    faults.push('the tag of the base is latest');
  if (text.includes('@sha256:')) faults.push('a digest is in the file: it is an argument of the release');
  if (!/^[1-9]\d*:[1-9]\d*$/.test(last('USER') ?? '')) faults.push('the last user is root or has no number');
  if (last('ENTRYPOINT')?.startsWith('["node",') !== true) faults.push('the first process is not node');
  if (last('STOPSIGNAL') !== 'SIGTERM') faults.push('the server drains with SIGTERM alone');
  if (last('HEALTHCHECK') === undefined) faults.push('there is no health check');
  // A short variable counts before the settings file, which the check does not read.
  if (!/\bPORT=\d+/.test(last('ENV') ?? '') || last('HEALTHCHECK')?.includes('${process.env.PORT}') !== true)
    faults.push('the health check does not ask the port that the image sets');
  for (const { name, words } of instructions) {
    if (name === 'RUN' && !words.startsWith('["')) faults.push(`a shell runs ${words}`);
    if (name === 'ADD' && /^https?:/.test(words)) faults.push(`${words} is not pinned`);
    if ((name === 'ENV' || name === 'ARG') && /key|secret|token|password|connection/i.test(words))
      faults.push(`a secret stays in the image: ${words}`);
  }
  if (!/\bSVC_ENVIRONMENT=Production\b/.test(text)) faults.push('the environment is not Production');
  return faults;
}

interface Instruction {
  readonly name: string;
  readonly words: string;
}

function instructionsOf(text: string): Instruction[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  return lines.flatMap((line) => {
    const [, name, words = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, words: words.trim() }];
  });
}

/** The variables that the image sets. */
export function imageVariables(text: string): Record<string, string> {
  const words = instructionsOf(text).flatMap((each) => (each.name === 'ENV' ? each.words.split(/ +/) : []));
  return Object.fromEntries(
    words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
}
