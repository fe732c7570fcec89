export { type HttpOptions, serveHttp } from './serve-http.ts';
export { type StdioOptions, serveStdio } from './serve-stdio.ts';
export { type ShellStdioOptions, serveShellTool } from './shell-tool-stdio.ts';
export type { AskUser, CallContext, OpenToolSet, Tool, ToolDefinition, ToolResult, ToolSet } from './tool.ts';
export { openUnifiedExecTools, type UnifiedExecToolsOptions } from './unified-exec-tools.ts';
