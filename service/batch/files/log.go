package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"zonedeck/keystore/textfile"
)

// rememberedBodies is how many bodies of the present segment are found again if they come again.
const rememberedBodies = 1 << 14

// Length says how long a worker's files are.
type Length struct{ Lines, Segment, Bytes int64 } // bytes of results; number of the last segment, 0 without one; its bytes

// Log is what one worker appends to its results.
type Log struct {
	dir, worker string
	syncing     sync.Mutex // held by Sync, which takes mu after it
	mu          sync.Mutex
	lines       *textfile.Partial
	segment     *os.File
	full        []*os.File // earlier segments that are not synced yet
	at          Length
	offsets     map[[sha256.Size]byte]int64 // of records in the present segment
	text        bytes.Buffer
	record      []byte
	maxSegment  int64
	err         error // why nothing can be appended any more
}

var errClosed = errors.New("the log is closed")

// OpenLog opens the results of a worker, or begins them. They are locked as long as the log is open: if another process
// has them, the error wraps textfile.ErrLocked. The results of a worker that died need Tail first.
func OpenLog(dir, worker string) (*Log, error) {
	if err := checkWorker(worker); err != nil {
		return nil, err
	}
	l := &Log{dir: dir, worker: worker, offsets: map[[sha256.Size]byte]int64{}, maxSegment: MaxSegment}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("opening %s: %w", resultsName(worker), errors.Join(err, l.Close()))
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if err := os.MkdirAll(filepath.Join(l.dir, bodiesFolder), 0o700); err != nil {
		return err
	}
	if l.lines, err = textfile.OpenPartial(filepath.Join(l.dir, resultsName(l.worker))); err != nil {
		return err
	}
	info, err := l.lines.Stat()
	if err != nil {
		return err
	}
	if l.at.Lines = info.Size(); l.at.Lines > 0 {
		var last [1]byte
		if _, err := l.lines.ReadAt(last[:], l.at.Lines-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			return errors.New("its last line is cut short: recover what the worker left first")
		}
	}
	if l.at.Segment, err = lastSegment(l.dir, l.worker); err == nil && l.at.Segment > 0 {
		if l.segment, err = os.OpenFile(filepath.Join(l.dir, segmentName(l.worker, l.at.Segment)), os.O_RDWR, 0); err == nil {
			info, err = l.segment.Stat()
		}
		if err == nil {
			l.at.Bytes = info.Size()
		}
	}
	if err != nil {
		return err
	}
	return textfile.SyncFolder(l.dir)
}

// lastSegment is the number of a worker's last segment, 0 without one.
func lastSegment(dir, worker string) (int64, error) {
	for n := int64(1); ; n++ {
		_, err := os.Lstat(filepath.Join(dir, segmentName(worker, n)))
		if errors.Is(err, fs.ErrNotExist) {
			return n - 1, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Append adds a result, and its body unless that is empty: the body first, then the line in one write. A body that is in
// the present segment already is not stored again. Append sets SHA256 and BodyAt of the line. After an error neither the
// line nor the body is there. Nothing is on disk before Sync.
func (l *Log) Append(line *Line, body []byte) error {
	line.SHA256, line.BodyAt = "", nil
	var digest [sha256.Size]byte
	if len(body) > 0 {
		digest = sha256.Sum256(body)
		line.SHA256 = hex.EncodeToString(digest[:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	offset, known := l.offsets[digest]
	if err == nil && len(body) > 0 && !known {
		err = l.makeRoom(int64(recordHead + len(body)))
		offset = l.at.Bytes
	}
	if err != nil {
		return fmt.Errorf("writing the result of item %d: %w", line.N, err)
	}
	before := l.at
	if len(body) > 0 {
		line.BodyAt = &BodyAt{Worker: l.worker, Segment: l.at.Segment, Offset: offset, Length: int64(len(body))}
		if !known {
			err = l.store(line.N, digest, body)
		}
	}
	if err == nil {
		err = l.write(line)
	}
	if err != nil {
		l.cutBack(before)
		return fmt.Errorf("writing the result of item %d: %w", line.N, errors.Join(err, l.err))
	}
	if len(body) > 0 && !known {
		if len(l.offsets) >= rememberedBodies {
			clear(l.offsets)
		}
		l.offsets[digest] = offset
	}
	return nil
}

// makeRoom begins a segment if there is none yet, or if a record of this size does not fit into the present one.
func (l *Log) makeRoom(size int64) error {
	if size > l.maxSegment {
		return fmt.Errorf("its body needs %d bytes, and a segment has %d", size, l.maxSegment)
	}
	if l.segment != nil && l.at.Bytes+size <= l.maxSegment {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(l.dir, segmentName(l.worker, l.at.Segment+1)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if l.segment != nil {
		l.full = append(l.full, l.segment)
	}
	l.segment, l.at.Segment, l.at.Bytes = f, l.at.Segment+1, 0
	clear(l.offsets)
	return textfile.SyncFolder(filepath.Join(l.dir, bodiesFolder))
}

// store writes the record of a body at the end of the present segment.
func (l *Log) store(n int64, digest [sha256.Size]byte, body []byte) error {
	l.record = appendRecord(l.record[:0], n, digest, body)
	_, err := l.segment.WriteAt(l.record, l.at.Bytes)
	l.at.Bytes += int64(len(l.record))
	if cap(l.record) > 1<<20 {
		l.record = nil
	}
	return err
}

func (l *Log) write(line *Line) error {
	l.text.Reset()
	enc := json.NewEncoder(&l.text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return err
	}
	if l.text.Len() > MaxLine {
		return fmt.Errorf("its line has %d bytes: at most %d", l.text.Len(), MaxLine)
	}
	_, err := l.lines.WriteAt(l.text.Bytes(), l.at.Lines)
	l.at.Lines += int64(l.text.Len())
	return err
}

// cutBack removes what an append left that did not succeed.
func (l *Log) cutBack(to Length) {
	l.at = to
	err := l.lines.Truncate(to.Lines)
	if l.segment != nil {
		err = errors.Join(err, l.segment.Truncate(to.Bytes))
	}
	if err != nil {
		l.err = fmt.Errorf("cutting %s back to whole lines: %w", resultsName(l.worker), err)
	}
}

// Sync puts on disk what was appended before the call, and says how long the files were then. After an error nothing can
// be appended any more, because it is not known what is on disk.
func (l *Log) Sync() (Length, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	at, segment, full, err := l.at, l.segment, l.full, l.err
	l.full = nil
	l.mu.Unlock()
	if err == nil {
		err = l.lines.Sync()
	}
	if err == nil && segment != nil {
		err = segment.Sync()
	}
	for _, f := range full {
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		return at, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("putting %s on disk: %w", resultsName(l.worker), err)
	}
	return Length{}, l.err
}

// Close closes the files. It does not sync them.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, f := range append(l.full, l.segment) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if l.lines != nil {
		err = errors.Join(err, l.lines.Leave())
	}
	l.full, l.segment, l.err = nil, nil, errClosed
	return err
}
