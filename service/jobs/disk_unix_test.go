//go:build unix

package jobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/service/servicetest"
)

// A disk that is full leaves what came, under a name that is told, and the next download goes
// on there.
func TestADiskThatIsFullLeavesAPartialFile(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		s := newParts(4)
		for i := range s.parts {
			s.parts[i] = strings.Repeat(s.parts[i], 20_000)
		}
		cl := serving(t, s.ServeHTTP)
		accepted(t, cl)
		to := Destination{File: filepath.Join(t.TempDir(), "out."+format)}
		t.Run(format, func(t *testing.T) {
			servicetest.LimitFiles(t, uint64(len(s.parts[0])*5/2))
			_, err := cl.Download(t.Context(), "job-1", to, nil)
			var kept *PartialError
			var disk *fs.PathError
			if !errors.As(err, &kept) || !errors.As(err, &disk) || kept.Parts != 2 || kept.Total != 4 || kept.File != to.File+".part" {
				t.Fatalf("%v", err)
			}
			if at, err := os.Stat(kept.File); err != nil || at.Size() != kept.Bytes || kept.Bytes < int64(2*len(s.parts[0])) {
				t.Errorf("%v, %v", at, err)
			}
		})
		s.seen()
		job, err := cl.Download(t.Context(), "job-1", to, nil)
		if asked := s.seen(); err != nil || asked != "parts 3 4" || job.Rows.Returned != 160_000 {
			t.Errorf("%s: asked for %s, %+v, %v", format, asked, job.Rows, err)
		}
	}
}
