package service

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/files"
	"zonedeck/service/records"
)

// OpenRows opens a result of any size. Its index is kept next to it.
func OpenRows(paths config.Paths, path string) (*records.File, error) {
	return openRows(paths, path, records.Identity{})
}

// OpenResult opens the result of a job as it was downloaded. It refuses a file that has changed since, and one on another
// machine.
func OpenResult(paths config.Paths, job model.Job) (*records.File, error) {
	if on := job.Rows.Machine; on != "" {
		return nil, fmt.Errorf("the result of %s is on %s, in %s: look at it there, or download it here as well", job.ID, on, job.File)
	}
	return openRows(paths, job.File, records.Identity{Size: job.Bytes, SHA256: job.SHA256})
}

func openRows(paths config.Paths, path string, want records.Identity) (*records.File, error) {
	return records.Open(path, records.Options{Temp: paths.RowsDir(), Keep: textfile.WriteBeside, Want: want})
}

// NamesFile reports whether a name means a file. A name like job-1 means a job of the ledger, even if there is a file
// of that name.
func NamesFile(name string) bool {
	digits, job := strings.CutPrefix(name, "job-")
	if _, err := strconv.ParseUint(digits, 10, 64); job && err == nil {
		return false
	}
	_, err := os.Stat(name)
	return err == nil
}

// OpenNamedResult opens a result: a file, or the result of a job in the ledger.
func (s *Service) OpenNamedResult(ctx context.Context, name string) (*records.File, error) {
	path, err := files.ExpandHome(name)
	if err != nil {
		return nil, err
	}
	if NamesFile(path) {
		return OpenRows(s.Paths, path)
	}
	job, err := s.Jobs.Job(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a file nor a job of the ledger", name)
	}
	if job.File == "" {
		return nil, fmt.Errorf("the result of %s is not on this disk: download it first", name)
	}
	return OpenResult(s.Paths, job)
}
