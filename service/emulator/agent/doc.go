// Package agent is the agent access of the service: an endpoint of the Model Context
// Protocol with the basic tools (search, scrape as Markdown, both in batches, discover)
// under the names that public clients know. /mcp speaks streamable HTTP, /sse the older
// transport with a hanging GET.
//
// It knows the protocol, keys and bounds; what the tools do comes from its caller as
// functions in [Config]. The emulator's root wires it, on the listener of the API.
//
// The results of tools are untrusted text of web pages. They are passed on unchanged in one
// block, because clients expect that; the server's instructions, the tools' descriptions and
// the "untrusted" mark in each result's _meta say that they are data.
//
// An [Agent] is safe for concurrent use. Nothing of the protocol's library is set up
// before the first request; every goroutine and session has ended when [Agent.Close]
// returns.
package agent
