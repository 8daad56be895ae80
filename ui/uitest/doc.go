// Package uitest drives the console in tests: flows on a fake clock, and golden
// screens. Only _test files import it.
//
// Start runs a real program with a virtual terminal inside a testing/synctest
// bubble, so that Press returns when everything the key triggered has
// finished. Replay and Golden are for whole-program tests in real time.
package uitest
