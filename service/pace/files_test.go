package pace_test

import (
	"testing"
	"time"

	"zonedeck/service/pace"
	"zonedeck/service/pace/pacetest"
)

func TestFilesAreAStore(t *testing.T) {
	pacetest.Run(t, func(t *testing.T) (a, b pace.Store, clock *pacetest.Clock, pass func(time.Duration)) {
		files, clock := pace.Files{Dir: t.TempDir()}, &pacetest.Clock{At: time.Now()}
		return files, files, clock, func(by time.Duration) { clock.At = clock.At.Add(by) }
	})
}
