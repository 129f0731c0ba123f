/** What a user does about a refusal of the endpoint by HTTP. */
export function remedyOf(status: number): string | undefined {
  return remedies.find(([statuses]) => statuses.includes(status))?.[1];
}

const remedies: readonly (readonly [statuses: readonly number[], words: string])[] = [
  [
    [401, 403],
    'Give a credential that the service takes, with --identity-token-file or --api-key-file. svc mcp serve reads the file again for each message.',
  ],
  [[404, 405], 'Look whether --server names the service, and whether it serves MCP (Mcp:Enabled).'],
  [[413], 'Send a smaller message.'],
  [[429, 502, 503, 504], 'Try again later.'],
];
