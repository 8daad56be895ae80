// Package view has the JSON that the program gives away: what the commands print with --json and what
// the tools for agents take and give, one type for each shape, made from the values of the domain and of
// the rooms below. [Encode] writes it. Moments are in UTC, durations in milliseconds, and what is not
// known is null.
//
// Its callers are ui/cli and ui/mcp. All of it may be used concurrently.
package view
