// Package exits is how the emulator's traffic leaves: which exit address a fetch
// has (rotating, sticky by session, allocated, by country), and the dialer that
// reaches the lab and public addresses and nothing else.
//
// The emulator's API, proxy and jobs call it. A [Pool] and a [Dialer] are safe for
// concurrent use.
//
// To loopback targets on Linux an exit is a real source address out of 127/8, so a
// target sees rotation and stickiness; elsewhere, and to public targets, the
// traffic leaves from this machine's own address and the exit is only reported
// ([Exit.Bound] tells).
package exits
