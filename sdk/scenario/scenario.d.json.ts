interface Step {
  readonly step: string;
  readonly method: { readonly python: string; readonly typescript: string };
}

declare const scenario: { readonly steps: readonly Step[] };
export = scenario;
