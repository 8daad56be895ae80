package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rows"
)

// The names of what an unfinished download keeps beside its file: the rows that came, and what is
// known about them.
const (
	partSuffix  = ".part"
	stateSuffix = ".part.json"
)

// maxState bounds the file about a partial file, in bytes.
const maxState = 4 << 20

// partState is what is known about a partial file. It is written after each part, so that a download
// that was cut off goes on with the missing part.
type partState struct {
	Version  int    `json:"version"`
	Place    string `json:"place"` // the service's address
	Snapshot string `json:"snapshot"`
	// Rows is how many rows a part has, 0 for a result that comes whole, and Parts how many
	// parts there are.
	Rows  int `json:"rows"`
	Parts int `json:"parts"`
	// Array says that the rows are stored as an array without its end, not one per line.
	Array bool `json:"array,omitempty"`
	// Done are the parts that have come.
	Done []partDone `json:"done"`
	// File is the file that was made of them. It is written before that file is moved into place, so
	// that the next download can finish one that was killed before the ledger was written.
	File *keptFile `json:"kept,omitempty"`
}

// partDone is where a part ends in the partial file, in bytes, and the SHA-256 of all that
// is before.
type partDone struct {
	End    int64  `json:"end"`
	SHA256 string `json:"sha256"`
	// Charged is what the service says the result cost, in dollars; nil if it does not say.
	Charged *float64 `json:"charged,omitempty"`
}

type keptFile struct {
	Format string        `json:"format"`
	Raw    bool          `json:"raw,omitempty"`
	Bytes  int64         `json:"bytes"`
	SHA256 string        `json:"sha256"`
	Rows   model.JobRows `json:"rows"`
}

func (s partState) sameSource(o partState) bool {
	return s.Version == o.Version && s.Place == o.Place && s.Snapshot == o.Snapshot && s.Array == o.Array
}

// whole reports whether nothing is left to ask for.
func (s partState) whole() bool { return s.Parts > 0 && len(s.Done) == s.Parts }

// partial holds the rows of a result that have come so far, on this disk, for one file. For JSON they are
// stored as the file will have them, without its end; for NDJSON and CSV one per line.
type partial struct {
	*textfile.Partial
	dest   string
	format string
	state  partState
	rows   *tally
	join   rows.Joiner
	joined []byte
	summed        // the file, as far as its rows came
	known  []byte // the text of the file about it
}

// openPartial locks the partial file for dest and reads what is known about it. It refuses what another
// result left there, unless drop is set. While another download writes there, the error wraps
// textfile.ErrLocked.
func openPartial(dest, format string, identity partState, drop bool, counted tally) (*partial, error) {
	f, err := textfile.OpenPartial(dest + partSuffix)
	if errors.Is(err, textfile.ErrLocked) {
		return nil, fmt.Errorf("%s is being downloaded to already, by another zonedeck or another download of this one: wait for its end, or name another file: %w", dest, textfile.ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	identity.Array = format == "json"
	counted.array = identity.Array
	p := &partial{Partial: f, dest: dest, format: format, state: identity, rows: &counted, summed: summed{f: f.File, sum: sha256.New()}}
	p.join.Array = identity.Array
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Leave())
	}
	state, text, err := readState(dest)
	switch {
	case err == nil && state.sameSource(identity):
		p.state, p.known = state, text
	case info.Size() > 0 && !drop:
		return nil, errors.Join(&ForeignError{File: f.Name()}, f.Leave())
	}
	return p, nil
}

// ForeignError says that a partial file belongs to another result, or is not stored as the format needs it.
type ForeignError struct{ File string }

func (e *ForeignError) Error() string {
	return e.File + " is there and holds another result, one for another format, or none: remove it, or name another file"
}

func readState(dest string) (s partState, text []byte, err error) {
	if text, err = textfile.ReadBounded(dest+stateSuffix, maxState); err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, text, err
}

func (p *partial) writeState() error {
	text, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	p.known = text
	return textfile.WriteBeside(p.dest+stateSuffix, text)
}

// dropState removes what is known about the partial file, unless another download has begun.
func (p *partial) dropState() error {
	text, err := textfile.ReadBounded(p.dest+stateSuffix, maxState)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Equal(text, p.known) {
		return nil
	}
	return errors.Join(err, os.Remove(p.dest+stateSuffix))
}

// check reads the parts that are there. It forgets those that are no longer what came, and everything
// after them, and is then positioned at the end of the rest.
func (p *partial) check(ctx context.Context, on func(Progress)) error {
	good, from := 0, p.reads(ctx, "checking what is there", on)
	for _, part := range p.state.Done {
		before := p.rows.copy()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(p.sum, p.rows)}, struct{ io.Reader }{io.LimitReader(from, part.End-p.size)}, make([]byte, 256<<10))
		if err != nil {
			return err
		}
		_ = p.rows.endPart(true) // it was not cut when it came
		if n != part.End-p.size || hex.EncodeToString(p.sum.Sum(nil)) != part.SHA256 || p.unfit() != nil {
			*p.rows = before
			break
		}
		p.size += n
		good++
	}
	if good < len(p.state.Done) {
		p.state.Done = p.state.Done[:good]
		if err := p.rehash(ctx, on); err != nil {
			return err
		}
	}
	return p.cut()
}

// rehash computes the digest of what is there again, up to the size.
func (p *partial) rehash(ctx context.Context, on func(Progress)) error {
	p.sum.Reset()
	if _, err := p.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(p.sum, p.reads(ctx, "checking what is there", on), p.size)
	return err
}

// restart forgets everything.
func (p *partial) restart(rows, parts int) error {
	p.state.Rows, p.state.Parts, p.state.Done, p.state.File = rows, parts, nil, nil
	*p.rows = tally{d: p.rows.d, dataset: p.rows.dataset, asked: p.rows.asked, array: p.state.Array}
	p.size, p.sync.upTo = 0, 0
	p.sum.Reset()
	return p.cut()
}

// cut drops what comes after the size, where the next row goes.
func (p *partial) cut() error {
	p.join = rows.Joiner{Array: p.state.Array, Begun: p.size > 0}
	if err := p.Truncate(p.size); err != nil {
		return err
	}
	_, err := p.Seek(p.size, io.SeekStart)
	return err
}

// Write takes what came, one row per line.
func (p *partial) Write(b []byte) (int, error) {
	p.joined = p.join.Add(p.joined[:0], b)
	return len(b), p.put(p.joined)
}

// put writes rows to the file, and adds them to the count and the digest.
func (p *partial) put(b []byte) error {
	var counted sync.WaitGroup
	counted.Go(func() { _, _ = p.rows.Write(b) })
	err := p.append(b)
	counted.Wait()
	return cmp.Or(err, p.unfit())
}

// append writes to the file.
func (p *partial) append(b []byte) error {
	_, err := p.summed.Write(b)
	return err
}

// unfit says why rows that can no longer be counted cannot become a file of the format. It is nil for
// NDJSON, which takes them as they are.
func (p *partial) unfit() error {
	if p.rows.err == nil || p.format == "ndjson" {
		return nil
	}
	return fmt.Errorf("%w; format ndjson takes the rows as they are", p.rows.err)
}

// endPart records that a part is there. whole says that the answer is known to be complete.
func (p *partial) endPart(whole bool) error {
	err := p.put(p.join.Flush(nil))
	if err == nil {
		err = cmp.Or(p.rows.endPart(whole), p.unfit())
	}
	if err != nil {
		return err
	}
	p.state.Done = append(p.state.Done, partDone{End: p.size, SHA256: hex.EncodeToString(p.sum.Sum(nil))})
	return p.writeState()
}

// leave ends a download that failed. If no byte came, nothing is kept; otherwise the error says what is
// kept.
func (p *partial) leave(cause error) error {
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrClosed): // it has its place; what is known of it says so to the next download
		return cause
	case err != nil:
		return errors.Join(cause, err, p.Leave())
	case info.Size() == 0:
		return errors.Join(cause, p.dropState(), p.Discard())
	}
	kept := &PartialError{File: p.Name(), Bytes: info.Size(), Parts: len(p.state.Done), Total: p.state.Parts, Err: cause}
	if err := p.Leave(); err != nil {
		return errors.Join(kept, err)
	}
	return kept
}

// PartialError is the error of an unfinished download; Err is why.
type PartialError struct {
	// File holds the rows that came, and Bytes is its size.
	File  string
	Bytes int64
	// Parts is how many complete parts of the result it holds, Of how many there are. A result that the
	// service gives whole has one part.
	Parts, Total int
	Err          error
}

// Unwrap is why the download ended.
func (e *PartialError) Unwrap() error { return e.Err }

func (e *PartialError) Error() string { return e.Err.Error() + "; " + e.Resume() }

// Resume says what is kept, and how to go on.
func (e *PartialError) Resume() string {
	kept := fmt.Sprintf("%d bytes are kept in %s: ", e.Bytes, e.File)
	switch {
	case e.Parts > 0 && e.Parts == e.Total:
		return kept + "all that the service gave; another download to the same file asks for none of it again"
	case e.Parts > 0:
		return kept + fmt.Sprintf("another download to the same file resumes after part %d of %d", e.Parts, e.Total)
	case e.Total > 1:
		return kept + fmt.Sprintf("another download to the same file starts again with part 1 of %d", e.Total)
	default:
		return kept + "the service gives this result only as a whole, so another download starts again"
	}
}

// fileIs reports whether a file has a size and a SHA-256; false if ctx ends before that is known.
func fileIs(ctx context.Context, name string, size int64, sum string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.CopyBuffer(h, &within{ctx: ctx, r: f}, make([]byte, 256<<10))
	return err == nil && hex.EncodeToString(h.Sum(nil)) == sum
}

// within reads what is on this disk until ctx ends, and tells on how much it has read.
type within struct {
	ctx      context.Context //nolint:containedctx // an io.Reader has no other place for it
	r        io.Reader
	on       func(n int64) // may be nil
	n        int64
	reported int64
}

// toldEvery is how much within reads between two calls of on, in bytes.
const toldEvery = 4 << 20

func (w *within) Read(b []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	n, err := w.r.Read(b)
	if w.n += int64(n); w.on != nil && w.n-w.reported >= toldEvery {
		w.reported = w.n
		w.on(w.n)
	}
	return n, err
}

// rewinding is a file that is read within a context, as often as needed.
type rewinding struct {
	within
	f io.Seeker
}

func (r *rewinding) Seek(offset int64, whence int) (int64, error) {
	r.n, r.reported = 0, 0
	return r.f.Seek(offset, whence)
}

// reads returns the partial file for reading from its position; doing says what for.
func (p *partial) reads(ctx context.Context, doing string, on func(Progress)) *rewinding {
	size := p.size
	if info, err := p.Stat(); err == nil {
		size = info.Size()
	}
	return &rewinding{within{ctx: ctx, r: p.File, on: func(n int64) {
		on(Progress{Bytes: size, Part: p.state.Parts, Parts: p.state.Parts, Doing: doing, Done: n})
	}}, p.File}
}

// pieceSize is how much of a result is handled at once, in bytes.
const pieceSize = 256 << 10

// piece is what was read at once, and how the reading ended.
type piece struct {
	text   []byte
	err    error
	gaveUp bool // looking for the key in it took too long
}

// copyTo copies at most so many bytes; more are an error. While one piece is written the next is
// received. What was received before an error is still written.
func (r *result) copyTo(w io.Writer, most int64, on func(int64)) (int64, error) {
	if on == nil {
		on = func(int64) {}
	}
	stop := make(chan struct{})
	pieces, free := make(chan piece), make(chan []byte, 2)
	for range cap(free) {
		free <- make([]byte, pieceSize)
	}
	go func() {
		defer close(pieces)
		r.receiveAll(pieces, free, stop)
	}()
	done, err := r.writeAll(w, pieces, free, most, on)
	close(stop)
	if err != nil && r.cancel != nil {
		r.cancel()
	}
	for range pieces { // until the reader has ended
	}
	return done, err
}

// receiveAll reads pieces until the end, which is an error of the last one, or until stop is closed.
func (r *result) receiveAll(to chan<- piece, free <-chan []byte, stop <-chan struct{}) {
	for {
		var p piece
		select {
		case buf := <-free:
			n := 0
			for n < len(buf) && p.err == nil {
				var got int
				got, p.err = r.Read(buf[n:])
				n += got
			}
			p.text, p.gaveUp = buf[:n], r.GaveUp
		case <-stop:
			return
		}
		select {
		case to <- p:
		case <-stop:
			return
		}
		if p.err != nil {
			return
		}
	}
}

func (r *result) writeAll(w io.Writer, from <-chan piece, free chan<- []byte, most int64, on func(int64)) (int64, error) {
	var done int64
	for p := range from {
		if _, err := w.Write(p.text); err != nil {
			return 0, err
		}
		if done += int64(len(p.text)); done > most {
			return 0, fmt.Errorf("the results are larger than %d MiB", most>>20)
		}
		on(done)
		switch {
		case p.gaveUp:
			return 0, unusable("is written so that looking for the key in it takes too long")
		case errors.Is(p.err, io.EOF):
			return done, nil
		case p.err != nil:
			return 0, p.err
		}
		free <- p.text[:cap(p.text)]
	}
	return done, nil
}

// syncer syncs a file as it grows, so that a file of gigabytes does not wait for its disk at the end.
type syncer struct {
	upTo    int64 // of the file, is on disk or on its way
	running sync.WaitGroup
}

// syncEvery is how many bytes are written between two syncs of a file.
const syncEvery = 64 << 20

// grew begins to sync a file of that size if it is time. Whoever moves the file into place syncs it
// once more, and reports errors.
func (s *syncer) grew(f *os.File, size int64) {
	if size-s.upTo >= syncEvery {
		s.running.Wait()
		s.upTo = size
		s.running.Go(func() { _ = f.Sync() })
	}
}

// summed is a file that is being written, with its size and digest so far: that of a download, and
// the table that is made of its rows.
type summed struct {
	f    *os.File
	sum  hash.Hash
	size int64
	sync syncer
}

func (s *summed) Write(b []byte) (int, error) {
	var summing sync.WaitGroup
	summing.Go(func() { _, _ = s.sum.Write(b) })
	n, err := s.f.Write(b)
	summing.Wait()
	s.size += int64(n)
	s.sync.grew(s.f, s.size)
	return n, err
}
