// Drives "zonedeck mcp" by the official client, on its standard input and output.
import { createRequire } from 'node:module';

const load = createRequire(process.env.MODULES + '/');
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');

const client = new Client({ name: 'foreign', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.env.PROGRAM, args: JSON.parse(process.env.ARGS), env: process.env, stderr: 'inherit',
}));
const out = { server: client.getServerVersion(), instructions: client.getInstructions(), tools: (await client.listTools()).tools.map((t) => t.name), results: [] };
for (const [name, args] of JSON.parse(process.env.CALLS)) {
  const r = await client.callTool({ name, arguments: args });
  out.results.push({ text: r.content.map((c) => c.text).join(''), isError: !!r.isError, structured: r.structuredContent ?? null });
}
await client.close();
console.log(JSON.stringify(out));
