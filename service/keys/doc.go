// Package keys is the use case "keys": which key may go where, and what is known of each. Keys is the
// exchange.Source of every call: it decides whether a key may be used with a profile, by a person, a command or an
// agent, and writes into the history what that needs. Inventory is the list of the keys with their uses and dates;
// Rotations takes a key or a password to its next value.
//
// The faces are its callers, and the use cases that send something. All types are safe for concurrent use.
package keys
