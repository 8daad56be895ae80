// Package whole tests the whole program: its screens against the goldens of
// testdata/screens, the built binary in a real terminal and with signals, and
// the figures of docs/performance.md. It holds tests only, which run from the
// top of the repository.
package whole
