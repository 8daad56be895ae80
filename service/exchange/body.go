package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/bodytext"
)

// headSize is how much of a body a diagnosis looks at, in bytes.
const headSize = bodytext.MaxHead

// progressStep is how many bytes go by between two reports of progress.
const progressStep = 256 << 10

// The bounds on bodies unless Bodies says otherwise, in bytes.
const (
	defaultMemory = 1 << 20
	defaultCap    = 1 << 30
)

// Bodies says where bodies are kept. A body of up to Memory bytes stays in memory; a
// larger one goes to a file, in Dir unless its sink has another path. Beyond Cap bytes
// the rest is dropped and the body reported as cut. 0 means the default.
type Bodies struct {
	Dir         string
	Memory, Cap int64
}

// Path is the file of a body that is kept in Dir; "" without a folder. Only the console
// chooses the name.
func (b Bodies) Path(name string) string {
	if b.Dir == "" {
		return ""
	}
	return filepath.Join(b.Dir, name+".body")
}

// Sink keeps a body: in memory up to a threshold, then in a temporary file, up to a
// cap. Only one goroutine may write to it.
type Sink struct {
	memory, limit int64
	path          string // where the body goes when it is kept
	quiet         bool   // cutting at the cap is intended and leaves no note

	buf  bytes.Buffer
	file *textfile.Temp
	head []byte
	sum  hash.Hash
	size int64
	cut  bool
	// disk is the error that keeps the file from holding the whole body.
	disk error
}

// errCap ends a copy at the cap.
var errCap = errors.New("the body is above the size cap")

// Sink makes an empty sink. Its file is written next to path and becomes path when the
// body is kept. A missing folder is created.
func (b Bodies) Sink(path string) *Sink {
	s := &Sink{memory: b.Memory, limit: b.Cap, path: path, sum: sha256.New()}
	if s.memory <= 0 {
		s.memory = defaultMemory
	}
	if s.limit <= 0 {
		s.limit = defaultCap
	}
	return s
}

// LimitTo lowers the cap to n bytes. Cutting there is intended and leaves no note.
func (s *Sink) LimitTo(n int64) { s.limit, s.quiet = min(s.limit, n), true }

// Write keeps p, or as much of it as the cap allows. It fails with errCap once
// the body has to be cut.
func (s *Sink) Write(p []byte) (int, error) {
	take := p
	if room := s.limit - s.size; int64(len(take)) > room {
		take, s.cut = take[:room], true
	}
	if err := s.keep(take); err != nil {
		s.disk, s.cut = err, true
		return 0, errCap
	}
	s.sum.Write(take)
	s.size += int64(len(take))
	if room := headSize - len(s.head); room > 0 {
		s.head = append(s.head, take[:min(room, len(take))]...)
	}
	if s.cut {
		return len(take), errCap
	}
	return len(p), nil
}

func (s *Sink) keep(p []byte) error {
	if s.file == nil && s.size+int64(len(p)) <= s.memory {
		s.buf.Write(p)
		return nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if _, err := s.file.Write(p); err != nil {
		// The file must hold exactly the bytes that Size and SHA256 describe. If
		// truncating fails too, the note about the disk has to do.
		_ = s.file.Truncate(s.size)
		return err
	}
	return nil
}

// spill moves what memory holds into the file.
func (s *Sink) spill() error {
	if s.path == "" {
		return errors.New("no folder for bodies is set")
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := textfile.NewTemp(s.path)
	if err != nil {
		return err
	}
	if _, err := f.Write(s.buf.Bytes()); err != nil {
		return errors.Join(err, f.Discard())
	}
	s.file, s.buf = f, bytes.Buffer{}
	return nil
}

// Finish returns what was received, with the disk's error if that cut the body.
func (s *Sink) Finish() (Received, error) {
	ref := model.BodyRef{Size: s.size, SHA256: hex.EncodeToString(s.sum.Sum(nil)), Cut: s.cut}
	if s.file == nil {
		ref.Bytes = s.buf.Bytes()
	} else {
		ref.File = s.file.Name()
	}
	return Received{Ref: ref, Head: s.head, file: s.file, path: s.path}, s.disk
}

// OpenBody opens a body that was kept, for reading. The caller closes it.
func OpenBody(b model.BodyRef) (io.ReadCloser, error) {
	if b.File == "" {
		return io.NopCloser(bytes.NewReader(b.Bytes)), nil
	}
	return os.Open(b.File)
}

// OpenText opens a body that was kept as text in UTF-8, for reading. The caller closes it.
func OpenText(b model.BodyRef) (io.ReadCloser, error) {
	src, err := OpenBody(b)
	if err != nil || b.Charset == "" {
		return src, err
	}
	return struct {
		io.Reader
		io.Closer
	}{bodytext.Named(b.Charset).Reader(src), src}, nil
}

// Received is a body as it was received.
type Received struct {
	Ref  model.BodyRef
	Head []byte // as much of it as a diagnosis looks at
	// Coding is set if it is compressed in a way that could not be undone: it is then as it came.
	Coding *bodytext.CodingError
	// Err is the error of the connection if reading ended before the body did, else nil.
	// Notes are observations worth showing.
	Err   error
	Notes []model.Evidence

	file *textfile.Temp // nil for a body in memory
	path string         // where the body goes when it is kept
}

// Keep moves a body on disk to its place, or, if that fails, to the file beside it that textfile.Failed ends. Without
// replace, a file that is there stays, and this is no error.
func (g *Received) Keep(replace bool) error {
	if g.file == nil {
		return nil
	}
	keep := g.file.KeepNew
	if replace {
		keep = g.file.Keep
	}
	err := keep()
	if err == nil {
		g.Ref.File = g.path
		return nil
	}
	if !replace && errors.Is(err, os.ErrExist) {
		err = nil
	}
	err = errors.Join(err, g.file.Leave())
	g.Ref.File = g.file.Name()
	return err
}

// Discard removes a body that nothing refers to any more.
func (g *Received) Discard() {
	if g.file != nil {
		_ = g.file.Discard() // the next start removes a file that stays
	}
}

// roomSize is the size of the buffers that bodies go through, in bytes: what is read at once, and what a mask holds back
// of the one before.
const roomSize = maskChunk + 4<<10

// rooms are buffers that wait for the next body. All their bytes are zero: none shows in another answer.
var rooms = sync.Pool{New: func() any { return new([roomSize]byte) }}

// leaveRoom wipes a buffer and lets the next body have it.
func leaveRoom(b *[roomSize]byte) {
	clear(b[:])
	rooms.Put(b)
}

// Receive reads a body to its end into a sink. It reports the bytes received so far
// to on, which may be nil.
func Receive(s *Sink, r io.Reader, on func(n int64)) Received {
	room := rooms.Get().(*[roomSize]byte)
	_, err := io.CopyBuffer(s, &reporter{r: r, on: on}, room[:])
	leaveRoom(room)
	got, disk := s.Finish()
	var coded *bodytext.CodingError
	if disk != nil {
		got.Note("error", "the body could not be kept on disk and was cut at %d bytes: %v", s.size, disk)
	}
	switch {
	case err == nil:
	case errors.Is(err, errCap) && disk != nil:
	case errors.Is(err, errCap) && s.quiet:
	case errors.Is(err, errCap):
		got.Note("error", "the body is larger than the cap of %d bytes; the rest was dropped", s.limit)
	case errors.Is(err, bodytext.ErrInflates):
		got.Ref.Cut = true
		got.Note("error", "%v; the rest was dropped", err)
	case errors.As(err, &coded):
		got.Coding = coded
	default:
		got.Ref.Incomplete, got.Err = true, err
	}
	return got
}

// Note adds an observation.
func (g *Received) Note(kind, format string, args ...any) {
	g.Notes = append(g.Notes, model.Evidence{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// reporter reports how many bytes have passed, every progressStep.
type reporter struct {
	r        io.Reader
	on       func(n int64)
	n        int64
	reported int64
}

func (r *reporter) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
	if r.on != nil && r.n-r.reported >= progressStep {
		r.reported = r.n
		r.on(r.n)
	}
	return n, err
}
