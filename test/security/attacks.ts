/** The attacks that the service is tested against, each in one line, with its state. */

export type AttackState = 'tested' | 'benchmark' | 'release step' | 'later';

export interface Attack {
  readonly id: string;
  readonly what: string;
  readonly state: AttackState;
  /** Why it is not a test: the part that does not exist yet, or the place where it is checked instead. */
  readonly reason?: string;
}

type Line = string | readonly [what: string, state: AttackState, reason: string];

const later = (what: string, reason: string): Line => [what, 'later', reason];
const mcp = 'the service has no route to the MCP endpoint yet';

/** By the letter of their group, numbered from 01. */
const groups: Readonly<Record<string, readonly Line[]>> = {
  A: [
    'a token that names no algorithm and has no signature',
    'a token that names no algorithm and has a valid signature',
    'a token signed with the public key as a shared secret',
    'a token of another algorithm than RS256',
    'a key id that is unknown, missing, a list, a path or a megabyte long',
    'a token that brings its own key, or says where to fetch one',
    'a token with critical extensions or an unencoded payload',
    'an issuer that is wrong, or nearly right',
    'an audience that is wrong, missing, a list or nearly right',
    'a configuration without an audience',
    'a token that expired, by less and by more than the tolerance',
    'times that lie ahead, are no numbers or are no times',
    'an unverified e-mail address',
    'an e-mail address that is missing, or looks like another',
    'an authorized party that is not on the list',
    'a token with white space, padding or other characters around or in it',
    'a token whose signature a platform removed',
    'credentials twice, in lists, and with schemes in other spellings',
    'keys that rotate: a new one appears, an old one leaves',
    'a key server that is down, slow, huge, redirected or answers garbage',
    'fifty first requests at once: one fetch of the keys',
    'the same token from another address, and its age where it counts',
    'a token for another audience of ours',
    'the development header outside Development',
    'an authenticator of the operator that throws, hangs or contradicts itself',
  ],
  B: [
    'an API key and an identity token side by side',
    'an identity token where an API key is expected',
    'two identity tokens that name different principals',
    'an API key alone, which can name no tenant',
    'headers in which proxies name the caller',
  ],
  C: [
    'API keys at rest: hashes only',
    'API keys of any length compared without revealing how much was right',
    'an unknown key and a wrong one, treated alike',
    'two keys while they change, and a revoked one',
    'keys that scanners and our own log recognise',
    'an API key in the query',
  ],
  D: [
    'every operation times every kind of caller',
    'a body that names another tenant than the path',
    'a document of another tenant inside a commit',
    'names and tokens of one tenant used in another',
    'ids of runs guessed next to a foreign one',
    'a policy that names all tenants and some',
    'a restore with one of the two grants that it needs',
    'an actor in the body',
    'a service identity in the body',
    'a worker id that is not that of the caller',
    'a refusal that reveals whether a record exists',
    'lists that show records of another tenant',
    'each operation as a stranger, a caller without rights and a busy neighbour',
  ],
  E: [
    'slashes, as they are and encoded',
    'backslashes',
    'percent signs',
    'question marks',
    'number signs',
    'encoded twice and three times',
    'escapes of the form %u',
    'overlong UTF-8',
    'truncated UTF-8',
    'NUL',
    'line ends and tabs',
    'dots and encoded dots',
    'an empty segment',
    'white space',
    'segments that are too long',
    'the full-width slash',
    'the division slash',
    'composed and decomposed characters',
    'characters that turn the direction of text',
    'invisible characters',
    'lone surrogates',
    'names with a meaning to file systems, languages and databases',
    'targets that are no paths',
    'empty segments, dot segments and other spellings of literals',
    'ids that collide when they are joined',
  ],
  F: [
    'requests whose end two readers see in different places',
    'headers that decide something, twice',
    'transfer and content codings',
    'bodies over the limit, by length and in chunks',
    'a body that trickles',
    'headers that trickle',
    'too many headers, and too large ones',
    'a client that waits for permission to send too much',
    'methods that no operation has',
    'headers that name another method',
    'headers that name another host or scheme',
    'ranges, upgrades and HTTP/2 in clear',
    'media types and charsets that are not JSON in UTF-8',
    'pages of other origins',
  ],
  G: [
    'nesting without end',
    'members without number',
    'one very long string',
    'a member twice, in two spellings',
    '__proto__ and its like, at every level',
    'numbers that become others',
    'other encodings, byte order marks and broken UTF-8',
    'text that resembles JSON',
    'lone surrogates in strings and names',
    'the corpus of JSON parsers',
    'names that collide in a hash table',
    'arrays for objects and the reverse, in every operation',
  ],
  H: [
    'patterns that take exponential time',
    'a million characters in every member',
    'validators that look into the data for their rules',
  ],
  I: [
    'more requests than the limit, before the body is read',
    'forged forwarding headers',
    'addresses of one network, and two spellings of one address',
    'addresses without number',
    'requests around the edge of a window',
    'several instances',
    'requests that cost more where another tenant has more data',
  ],
  J: [
    'planted secrets, searched in all output',
    'messages of libraries in answers',
    'line ends, escapes and JSON written into the log',
    'secrets printed by inspecting, converting or refusing them',
    'secrets in copies of a tenant',
  ],
  K: [
    'guessing a lease token, or reading it in the store',
    ['lease tokens distinguished by time', 'benchmark', 'the bench `timing`'],
    'lease tokens that are stale, foreign, changed or used up',
    'continuation tokens with any bit changed',
  ],
  L: [
    'addresses in requests that the service would call',
    'addresses of artifacts that the service would fetch',
    'addresses to which a provider, or the name of one, leads',
    'answers of a provider that never end, or that are not what was asked for',
  ],
  M: [
    'names of chunks that lead out of the archive',
    'links in the folder of an archive',
    'too many chunks, too large ones, compressed ones',
    'one bit flipped anywhere',
    'chunks missing, added, reordered or repeated',
    'the archive of another tenant, or of a newer format',
    'another hash than expected',
    'the same restore twice',
    'one byte more than the limit',
    'content that is the same in another order',
  ],
  N: [
    'strangers who post to the task handler',
    'a task of an unknown run',
    'a task of the run of another tenant',
    'work done in a message instead of a lease',
    'forged tasks without number',
  ],
  O: [
    'headers that contradict the body',
    later('the official scenarios of conformance', 'run by hand; `test/mcp/conformance-server.ts` says how'),
    'a tool that the caller was not shown',
    later('a server that acts with another identity than its caller’s', mcp),
    later('descriptions of tools that change or instruct', mcp),
    later('instructions in stored data', mcp),
    'credentials and huge texts in metadata',
    'a task of a tool without the capability',
    'the task of another caller',
    later('tools that have to be switched on', mcp),
    later('batches and floods', mcp),
    'answers in shared caches',
  ],
  P: [
    'packages from elsewhere, or changed',
    'scripts that run when packages are installed',
    ['signatures and provenance of packages', 'release step', 'needs the network; in CONTRIBUTING'],
    'unintended content of a bundle or package',
    'a bill of materials that is not that of the bundle',
    'two builds that differ',
    ['dependencies that are younger than a week', 'release step', 'needs the network; in CONTRIBUTING'],
    [
      'a release with a long-lived credential',
      'release step',
      'a setting of the release job; in CONTRIBUTING',
    ],
    'generated files that are not those of their sources',
    'code made at run time in deployed bundles',
  ],
};

export const attacks: readonly Attack[] = Object.entries(groups).flatMap(([letter, lines]) =>
  lines.map((line, index) => {
    const id = `${letter}${String(index + 1).padStart(2, '0')}`;
    if (typeof line === 'string') return { id, what: line, state: 'tested' as const };
    const [what, state, reason] = line;
    return { id, what, state, reason };
  }),
);
