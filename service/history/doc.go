// Package history is what this machine remembers: the timeline, the fetches with their bodies, the comparisons, and
// what is written of them to files. Faces call it; nothing here is sent.
//
// A History is safe for concurrent use.
package history
