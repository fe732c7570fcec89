import type { ServerContext } from '@modelcontextprotocol/server';

const INTERVAL_MS = 1_000;

/** Tells the client that a call goes on, if it wants to know: most of them wait longer then. */
export function reportProgress({ mcpReq }: ServerContext, tool: string): Disposable {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { [Symbol.dispose]() {} };
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const progress = Math.round((performance.now() - startedAt) / 1000);
    const message = `${tool} has been going on for ${progress} s`;
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {}); // the connection is gone, which ends the call too
  }, INTERVAL_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
