import { Option } from 'commander';

/** The options of `svc doctor --cloud`. */

export interface CloudOptions {
  readonly cloud?: true;
  readonly deployment?: string;
  readonly project?: string;
  readonly googleApis?: string;
  readonly timeout: number;
  readonly verbose?: true;
}

export function cloudOptions(): Option[] {
  return [
    new Option('--cloud', 'looks at a project in Google Cloud instead of this machine; changes nothing'),
    new Option('--deployment <file>', 'what is deployed: the output of terraform output -json svc'),
    new Option('--project <id>', 'the project, before the first deployment'),
    new Option('--google-apis <url>', "a stand-in for Google's APIs, for tests")
      .env('GOOGLE_APIS_ENDPOINT')
      .hideHelp(),
  ];
}
