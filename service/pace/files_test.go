package pace_test

import (
	"testing"
	"time"

	"zonedeck/service/pace"
	"zonedeck/service/pace/pacetest"
)

func TestFilesAreAStore(t *testing.T) {
	pacetest.Run(t, func(t *testing.T) (a, b pace.Store, clock *pacetest.Clock, pass func()) {
		files := pace.Files{Dir: t.TempDir()}
		return files, files, &pacetest.Clock{At: time.Now()}, func() {}
	})
}
