import { exitCodes, ToolError } from '../output.ts';
import { addressText } from './address.ts';

/** The service was not reached, or stopped answering. */
export class RemoteFailure extends ToolError {
  /** Whether the request was sent: the service may then have executed it. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean, cause: unknown) {
    super(message, exitCodes.unavailable, { cause });
    this.name = 'RemoteFailure';
    this.sent = sent;
  }
}

export interface FailureCircumstances {
  readonly server: URL;
  /** The phase in which the time ran out. */
  readonly cause?: 'connect' | 'silence' | undefined;
  readonly sent: boolean;
}

/** A network failure in words for people. */
export function failureOf(error: Error, { server, cause, sent }: FailureCircumstances): RemoteFailure {
  const address = addressText(server);
  const failure = (message: string, mayBeDone = false) =>
    new RemoteFailure(message, mayBeDone && sent, error);
  if (cause === 'connect') return failure(`${address} did not take a connection in time.`);
  if (cause === 'silence') return failure(`${address} sent nothing for longer than --timeout.`, true);
  const { code = '' } = error as NodeJS.ErrnoException;
  const words = Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  if (words !== undefined) return failure(`${address} ${words}`);
  if (isCertificateFault(code)) return failure(certificateText(server, code));
  if (/^(ERR_SSL_|EPROTO)/.test(code)) {
    return failure(`${address} does not speak TLS as it should (${code}): is it an address of http://?`);
  }
  if (code.startsWith('HPE_')) return failure(`${address} does not answer in HTTP (${code}).`, true);
  if (['ECONNRESET', 'EPIPE', 'ECONNABORTED'].includes(code)) {
    return failure(`${address} broke the connection off before it had answered.`, true);
  }
  return failure(`${address} could not be asked: ${code === '' ? error.message : code}.`, true);
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections: is the service running there?',
  ENOTFOUND: 'has a host name that is not known.',
  EAI_AGAIN: 'has a host name that cannot be looked up now.',
  ETIMEDOUT: 'did not take a connection in time.',
  EHOSTUNREACH: 'cannot be reached from here.',
  ENETUNREACH: 'cannot be reached from here.',
  EADDRNOTAVAIL: 'cannot be reached from here.',
  NOT_THIS_MACHINE:
    'has a name of this machine, but leads to another: a credential is not sent there in the clear.',
};

function isCertificateFault(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|ALTNAME/.test(code);
}

function certificateText(server: URL, code: string): string {
  const remedy = 'An authority of your own is named by NODE_EXTRA_CA_CERTS.';
  return `The certificate of ${server.host} is not accepted (${code}). ${remedy}`;
}
