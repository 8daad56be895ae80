// Package agent speaks to the MCP endpoint of agent access (service.md 1; the protocol is
// that of modelcontextprotocol.io, streamable HTTP): it lists the tools, reads the input
// schema of one as the fields of a form, and calls one.
//
// The rooms that fetch call it. Each call is a session of its own, which ends with it;
// nothing is kept between two. All of it goes through exchange, so that limits, timings and
// the masking of the key hold. What a tool returns is remote bytes.
package agent
