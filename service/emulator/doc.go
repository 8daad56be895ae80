// Package emulator is the embedded local service: the HTTP API, the proxy for
// native access, the account settings and a small web site to fetch, as
// docs/service.md describes them, on loopback sockets.
//
// It serves people without an account, `zonedeck emulate`, and the tests. Only the
// wiring in ui/cli and tests import it, and it imports nothing of zonedeck: client and server
// share nothing but the protocol. What the contract calls "not shown" follows the public
// documentation of a service of this kind, or is an assumption; each answer's
// x-emulator-basis header tells which.
//
// A [Server] is safe for concurrent use; every goroutine it starts has ended when
// [Server.Shutdown] returns.
//
// docs/emulator.md lists what works, what differs and why, and what is missing. TestConformance
// compares that page with the tests and the route tables.
package emulator
