//go:build !race

package emulator

const raced = false
