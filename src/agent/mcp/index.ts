export { serveHttp } from './serve-http.ts';
export { serveStdio } from './serve-stdio.ts';
export { serveShellTool } from './shell/serve-stdio.ts';
export type { OpenToolSet } from './tool.ts';
export { openUnifiedExecTools } from './unified-exec-tools.ts';
