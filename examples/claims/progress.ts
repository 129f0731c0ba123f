const WIDTH = 30;

/** A bar on a terminal; elsewhere one line per quarter, so that logs stay short. Writes to standard error. */
export function progress(label: string, total: number): (done: number) => void {
  const out = process.stderr;
  let quarter = 0;
  return (done) => {
    const share = total === 0 ? 1 : Math.min(done / total, 1);
    if (out.isTTY) {
      const filled = Math.round(share * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      out.write(`\r${label.padEnd(22)} ${bar} ${done}/${total}${share === 1 ? '\n' : ''}`);
      return;
    }
    const reached = Math.floor(share * 4);
    if (reached > quarter) out.write(`${label}: ${done}/${total}\n`);
    quarter = Math.max(quarter, reached);
  };
}
