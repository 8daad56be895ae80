// Package mcp is the console for agents: an MCP server with the console's tools, under
// the rules that the operator gave at start. What the rules do not allow is refused before
// anything is sent.
//
// A call has a line in the history while it runs, and one that says what came of it. What
// an agent gets is bounded, free of the secrets that were used, and keeps what came from
// outside apart, as data.
//
// The command line is the caller. A Server is safe for concurrent use.
package mcp
