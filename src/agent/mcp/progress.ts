import type { ServerContext } from '@modelcontextprotocol/server';
import { limits } from './limits.ts';

/** Tells the client that a call goes on, if it has asked for progress: most clients wait longer then. */
export function reportProgress({ mcpReq }: ServerContext, tool: string): Disposable {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { [Symbol.dispose]() {} };
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const progress = Math.round((performance.now() - startedAt) / 1000);
    const message = `${tool} has been going on for ${progress} s`;
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {}); // without a connection the call ends too
  }, limits.progressIntervalMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
