// Package keys is the use case "keys": which key may go where, and what is known of each. Keys is the
// exchange.Source of every call: it decides whether a person, a command or an agent may use a key with a profile,
// and records such uses in the history. Inventory is the list of the keys with their uses and dates. Rotations
// takes a key or a password to its next value.
//
// The faces call it, and the use cases that send something. All types are safe for concurrent use.
package keys
