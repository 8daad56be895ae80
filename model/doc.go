// Package model is the domain of the console: accounts, zones, keys, levels,
// credentials, fetches, jobs and diagnoses, as plain values and pure rules.
//
// Every package of the console may import it, and the emulator does not; it imports
// the standard library only. Nothing here does I/O, reads a clock (time is passed in)
// or keeps state, so everything is safe for concurrent use.
//
// "service.md" in comments is docs/service.md, which restates the service's
// contract under its own section numbers.
package model
