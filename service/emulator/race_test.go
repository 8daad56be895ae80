//go:build race

package emulator

// raced: the race detector's own memory grows with what it has seen.
const raced = true
