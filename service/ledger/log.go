package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// record is one line of the log: a job about to be sent, or the identifier that
// the service gave it.
type record struct {
	At       time.Time `json:"at"`
	Job      int64     `json:"job"`
	Event    string    `json:"event"` // begun or accepted
	Profile  string    `json:"profile,omitempty"`
	Dataset  string    `json:"dataset,omitempty"`
	Key      string    `json:"key,omitempty"`
	Inputs   int       `json:"inputs,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Snapshot string    `json:"snapshot,omitempty"`
	// JobID and SnapshotID are what the service called so.
	JobID      string `json:"job_id,omitempty"`
	SnapshotID string `json:"snapshot_id,omitempty"`
	// Asked is there for a job with a name, which is in it: a name must outlive the ledger.
	Asked *model.JobAsked `json:"asked,omitempty"`
}

const (
	begun    = "begun"
	accepted = "accepted"
)

// logPath is the log of the ledger at path.
func logPath(path string) string { return path + ".log" }

// lineSum ends a line of the log: the checksum of everything before it. Lines of earlier builds have none.
const lineSum = `,"sum":"%08x"}`

// appendLog adds records to the log. When it returns, they are on disk.
func appendLog(path string, records ...record) error {
	var lines []byte
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		line = line[:len(line)-1]
		lines = append(fmt.Appendf(append(lines, line...), lineSum, crc32.Checksum(line, castagnoli)), '\n')
	}
	return textfile.Append(path, lines)
}

// intact reports whether a line is as it was written, as far as its checksum can tell.
func intact(line []byte) bool {
	at := len(line) - len(`,"sum":"00000000"}`)
	return at < 0 || !bytes.HasPrefix(line[at:], []byte(`,"sum":"`)) || string(line[at:]) == fmt.Sprintf(lineSum, crc32.Checksum(line[:at], castagnoli))
}

// logged is what the log says about one job.
type logged struct {
	begun record // with Job 0 if the line is missing
	names model.JobNames
	at    time.Time // of the acceptance
}

// known reports whether the log has a line about the job.
func (e logged) known() bool { return e.begun.Job != 0 || e.names.Snapshot != "" }

// span is where a line stands in the log, and whether it has no end: then it may be the one that is being written.
type span struct {
	at, size int
	open     bool
}

// readLog reads the log. A missing log is empty. damaged are the lines that cannot be read.
func readLog(path string) (jobs map[int64]logged, damaged []span, err error) {
	text, err := textfile.ReadBounded(path, math.MaxInt64-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil {
		jobs, damaged = parseLog(text)
	}
	return jobs, damaged, err
}

func parseLog(text []byte) (jobs map[int64]logged, damaged []span) {
	jobs = map[int64]logged{}
	at := 0
	for line := range bytes.Lines(text) {
		if text := bytes.TrimSpace(line); len(text) > 0 && (!intact(text) || !applyLine(jobs, text)) {
			whole := bytes.TrimSuffix(line, []byte("\n"))
			damaged = append(damaged, span{at, len(whole), len(whole) == len(line)})
		}
		at += len(line)
	}
	return jobs, damaged
}

// blank overwrites damaged lines with blanks, so that they are reported once. The log is not
// replaced: another process may be adding a line to it.
func blank(path string, damaged []span) (err error) {
	if len(damaged) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, s := range damaged {
		if _, err := f.WriteAt(bytes.Repeat([]byte(" "), s.size), int64(s.at)); err != nil {
			return err
		}
	}
	return f.Sync()
}

// applyLine adds one line to what is known about its job.
func applyLine(jobs map[int64]logged, line []byte) bool {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Job <= 0 || r.Job > maxNumber {
		return false
	}
	entry := jobs[r.Job]
	switch {
	case r.Event == begun:
		entry.begun = r
	case r.Event == accepted && r.Snapshot != "":
		entry.names, entry.at = model.JobNames{Snapshot: r.Snapshot, JobID: r.JobID, SnapshotID: r.SnapshotID}, r.At
	default:
		return false
	}
	jobs[r.Job] = entry
	return true
}
