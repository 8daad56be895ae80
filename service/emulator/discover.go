package emulator

import (
	"context"
	"time"

	"zonedeck/service/emulator/index"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/lab"
)

// The prices of a record of a deep lookup and of each value added to it, in dollars, as in the
// examples of public documentation.
const (
	lookupRecordRate = 1.00
	lookupColumnRate = 0.05
)

func (s *Server) openIndex() {
	s.index = index.Open(s.ctx, index.Config{
		Documents: labDocuments, Now: s.now, Wait: s.waitMoved, Loose: s.loose, RecordRate: lookupRecordRate, ColumnRate: lookupColumnRate, Log: s.log,
		Fail: func() error {
			if s.account.Suspended() {
				return &jobs.FailedError{Message: textSuspended}
			}
			return nil
		},
	})
}

// waitMoved waits by the emulator's clock, which may be moved meanwhile.
func (s *Server) waitMoved(ctx context.Context, d time.Duration) error {
	return s.rehearsal.clock.Wait(ctx, s.now().Add(d))
}

func labDocuments() []index.Document {
	pages := lab.Documents()
	docs := make([]index.Document, len(pages))
	for i, p := range pages {
		docs[i] = index.Document(p)
	}
	return docs
}
