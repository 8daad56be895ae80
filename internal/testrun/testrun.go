// Package testrun sets how a package's tests run.
package testrun

import (
	"flag"
	"runtime"
	"strconv"
)

// Parallel lets n parallel tests run at once where there are fewer processors: for
// tests that wait more than they work. TestMain calls it before the flags are read,
// so that -parallel on the command line goes before it.
func Parallel(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
}
