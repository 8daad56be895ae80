//go:build !unix

package emulator

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
