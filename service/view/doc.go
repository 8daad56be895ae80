// Package view has the JSON that the program gives away: what the commands print with --json and what
// the tools for agents take and give, one type for each shape, made from the values of the domain and of
// the rooms below. [Encode] writes it. Moments are in UTC, durations in milliseconds, and what is not
// known is null.
//
// A field has the name of its Go field in snake case, with the unit at its end, and one word has one
// meaning in all objects:
//   - summary is the sentence of a diagnosis, and text any other sentence made for people: a verdict in
//     words, a finding, a step.
//   - reason says why something is as it is; problem, why a value is not there, or nothing was sent; error
//     is what a command also says on standard error.
//   - detail is what the service wrote, note what a person did, or what an agent has to know.
//   - cost is what was spent by the rates of zones, cost_estimate what something would cost.
//   - reference names where a secret is; a key's is its secret, as in keys.toml and the files of keys export.
//
// Its callers are ui/cli and ui/mcp. All of it may be used concurrently.
package view
