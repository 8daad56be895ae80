// Package account is the emulated account: its keys, levels and zones (service.md 2), kept
// in the state folder. The API, native access and the control API ask it what a key or a
// login permits, and change it.
//
// An [Account] is safe for concurrent use. Readers take no lock: they see the account after
// the last change. A change is on disk before it is answered, and every later request sees
// it.
package account
