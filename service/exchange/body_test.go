package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/model"
)

func TestTheSizeOfABodyDecidesWhereItIsKept(t *testing.T) {
	const memory, limit = 10, 20
	for size, c := range map[int]struct {
		kept   int
		onDisk bool
		cut    bool
	}{
		0:          {0, false, false},
		memory:     {memory, false, false},
		memory + 1: {memory + 1, true, false},
		limit:      {limit, true, false},
		limit + 1:  {limit, true, true},
		limit * 3:  {limit, true, true},
	} {
		body := strings.Repeat("0123456789", 6)[:size]
		want := body[:c.kept]
		sum := sha256.Sum256([]byte(want))
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(body), "by the byte": iotest.OneByteReader(strings.NewReader(body))} {
			dir := filepath.Join(t.TempDir(), "bodies")
			got := Receive(Bodies{Dir: dir, Memory: memory, Cap: limit}.Sink("f-1"), r, nil)
			if got.Err != nil || got.Ref.Incomplete || got.Ref.Cut != c.cut || got.Ref.Size != int64(c.kept) || got.Ref.SHA256 != hex.EncodeToString(sum[:]) || string(got.Head) != want {
				t.Errorf("%d bytes %s: %+v", size, name, got)
			}
			var notes []model.Evidence
			if c.cut {
				notes = []model.Evidence{{Kind: "error", Text: "the body is larger than the cap of 20 bytes; the rest was dropped"}}
			}
			if !slices.Equal(got.Notes, notes) {
				t.Errorf("%d bytes %s: notes %+v", size, name, got.Notes)
			}
			wantFile := ""
			if c.onDisk {
				wantFile = filepath.Join(dir, "f-1.body")
			}
			if got.Ref.File != wantFile {
				t.Errorf("%d bytes %s: file %q", size, name, got.Ref.File)
			}
			src, err := OpenBody(got.Ref)
			if err != nil {
				t.Fatal(err)
			}
			back, err := io.ReadAll(src)
			if err != nil || string(back) != want || src.Close() != nil {
				t.Errorf("%d bytes %s: %q came back, %v", size, name, back, err)
			}
			if Discard(got.Ref); c.onDisk {
				if _, err := os.Stat(wantFile); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%d bytes %s: after Discard %v", size, name, err)
				}
			}
		}
	}
}

func TestAnIntendedCutLeavesNoNote(t *testing.T) {
	for n, want := range map[int64]int64{5: 5, 50: 20} {
		s := Bodies{Cap: 20}.Sink("a")
		s.LimitTo(n)
		got := Receive(s, strings.NewReader(strings.Repeat("x", 30)), nil)
		if got.Ref.Size != want || !got.Ref.Cut || got.Err != nil || got.Notes != nil {
			t.Errorf("limit %d: %+v", n, got)
		}
	}
}

func TestABodyThatIsNotWholeSaysWhy(t *testing.T) {
	const onDisk = "the body could not be kept on disk and was cut at "
	broken := errors.New("the connection broke")
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, "a.body"), []byte("another body"), 0o600); err != nil {
		t.Fatal(err)
	}
	unfinished := Bodies{Memory: 3, Dir: t.TempDir()}.Sink("a")
	for name, c := range map[string]struct {
		sink  *Sink
		r     io.Reader
		want  Received
		notes []string // how each note begins; the system's error text follows
	}{
		"no folder":   {Bodies{Memory: 3}.Sink("a"), strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, []string{onDisk + "0 bytes: no folder for bodies is set"}},
		"a taken one": {Bodies{Memory: 3, Dir: taken}.Sink("a"), strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, []string{onDisk + "0 bytes: open " + filepath.Join(taken, "a.body") + ": "}},
		"a file that cannot be closed": {
			unfinished,
			io.MultiReader(strings.NewReader("abcd"), readerFunc(func([]byte) (int, error) { _ = unfinished.file.Close(); return 0, io.EOF })),
			Received{Ref: model.BodyRef{Size: 4, Cut: true}},
			[]string{onDisk + "4 bytes: close "},
		},
		"a cut line": {Bodies{}.Sink("a"), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), Received{Ref: model.BodyRef{Size: 2, Incomplete: true}, Err: broken}, nil},
		"a bomb":     {Bodies{}.Sink("a"), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(ErrInflates)), Received{Ref: model.BodyRef{Size: 2, Cut: true}}, []string{ErrInflates.Error() + "; the rest was dropped"}},
	} {
		got := Receive(c.sink, c.r, nil)
		if got.Ref.Size != c.want.Ref.Size || got.Ref.Cut != c.want.Ref.Cut || got.Ref.Incomplete != c.want.Ref.Incomplete || !errors.Is(got.Err, c.want.Err) {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.EqualFunc(got.Notes, c.notes, func(e model.Evidence, text string) bool { return e.Kind == "error" && strings.HasPrefix(e.Text, text) }) {
			t.Errorf("%s: notes %+v", name, got.Notes)
		}
	}
	if b, err := os.ReadFile(filepath.Join(taken, "a.body")); err != nil || string(b) != "another body" {
		t.Errorf("the other body became %q, %v", b, err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestProgressIsToldStepByStep(t *testing.T) {
	var told []int64
	body := bytes.NewReader(make([]byte, 2*progressStep+1))
	pieces := io.MultiReader(io.LimitReader(body, progressStep-1), io.LimitReader(body, 1), io.LimitReader(body, progressStep-1), body)
	r := &reporter{r: pieces, on: func(n int64) { told = append(told, n) }}
	buf := make([]byte, progressStep)
	for {
		if _, err := r.Read(buf); err != nil {
			break
		}
	}
	if want := []int64{progressStep, 2*progressStep + 1}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestADiagnosisReadsOnlyTheHead(t *testing.T) {
	s := Bodies{}.Sink("a")
	for _, n := range []int{headSize - 1, 2, 5} {
		if _, err := s.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Head()) != headSize {
		t.Errorf("the head has %d bytes", len(s.Head()))
	}
}
