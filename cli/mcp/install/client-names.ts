/** The desktop programs that `svc mcp install` knows. */
export const clientNames = ['claude-desktop', 'claude-code', 'vscode', 'cursor', 'codex', 'chatgpt'] as const;
export type ClientName = (typeof clientNames)[number];
