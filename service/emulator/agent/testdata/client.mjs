// A client of the Model Context Protocol by others: the TypeScript SDK. Tests run it
// with what to do in its environment, and it prints what it saw as one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { ENDPOINT, TRANSPORT, KEY, MODULES, SERVER } = process.env;
const require = createRequire(pathToFileURL(MODULES + "/"));
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/client/" + name)).href);
const { Client } = await load("index.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");
const { SSEClientTransport } = await load("sse.js");
const { StdioClientTransport } = await load("stdio.js");

const options = KEY ? { requestInit: { headers: { Authorization: "Bearer " + KEY } } } : {};

function transportTo() {
  if (TRANSPORT === "stdio") return new StdioClientTransport({ command: process.execPath, args: [SERVER], env: process.env });
  const Transport = TRANSPORT === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(ENDPOINT), options);
}

const client = new Client({ name: "foreign", version: "1.0.0" });
const seen = {};
try {
  const transport = transportTo();
  await client.connect(transport);
  seen.server = client.getServerVersion();
  seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
  seen.results = {};
  for (const [name, args] of JSON.parse(process.env.CALLS)) {
    const result = await client.callTool({ name, arguments: args });
    seen.results[name] = { text: result.content[0].text, isError: result.isError === true };
  }
  await transport.terminateSession?.();
} catch (e) {
  seen.error = String(e.message ?? e);
  seen.code = e.code;
}
await client.close();
console.log(JSON.stringify(seen));
