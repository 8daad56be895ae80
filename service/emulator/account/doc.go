// Package account is the emulated account: its keys, levels and zones (service.md 2), kept
// in the state folder. The API, native access and the control API ask it who may what, and
// change it.
//
// An [Account] is safe for concurrent use. Readers take no lock: they see the account as
// the last change left it. A change is on disk before it is answered, and every request
// that looks afterwards sees it.
package account
