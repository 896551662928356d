/** The MCP server, for `baton mcp` and for `/mcp` of `baton serve`. */
export { lookAt, lookThrough } from './look.ts';
export { createMcpServer, type McpOptions } from './server.ts';
export { type StdioOptions, serveStdio } from './stdio.ts';
