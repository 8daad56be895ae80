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

func TestABodyIsKeptWhereItsSizeSays(t *testing.T) {
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
			sink := Bodies{Dir: dir, Memory: memory, Cap: limit}.Sink("f-1")
			got := Receive(sink, r, nil)
			if got.Err != nil || got.Ref.Incomplete || got.Ref.Cut != c.cut || sink.Cut() != c.cut || got.Ref.Size != int64(c.kept) || got.Ref.SHA256 != hex.EncodeToString(sum[:]) || string(got.Head) != want {
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

func TestABodyThatIsDroppedLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{1, 30} {
		s := Bodies{Dir: dir, Memory: 10}.Sink("a")
		if _, err := s.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		s.Drop()
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("%d bytes: %v, %v", size, files, err)
		}
	}
}

func TestABodyIsCutQuietlyWhereThatWasAskedFor(t *testing.T) {
	for n, want := range map[int64]int64{5: 5, 50: 20} {
		s := Bodies{Cap: 20}.Sink("a")
		s.LimitTo(n)
		got := Receive(s, strings.NewReader(strings.Repeat("x", 30)), nil)
		if got.Ref.Size != want || !got.Ref.Cut || got.Err != nil || got.Notes != nil {
			t.Errorf("limit %d: %+v", n, got)
		}
	}
}

func TestABodyThatHasNoPlaceOrNoEndSaysSo(t *testing.T) {
	broken := errors.New("the line is cut")
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, "a.body"), []byte("another body"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bodies Bodies
		r      io.Reader
		want   Received
		note   string
	}{
		"no folder":   {Bodies{Memory: 3}, strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, "the body could not be kept on disk and was cut at 0 bytes: no folder for bodies is set"},
		"a taken one": {Bodies{Memory: 3, Dir: taken}, strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, "the body could not be kept on disk and was cut at 0 bytes: open " + filepath.Join(taken, "a.body") + ": file exists"},
		"a cut line":  {Bodies{}, io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), Received{Ref: model.BodyRef{Size: 2, Incomplete: true}, Err: broken}, ""},
		"a bomb":      {Bodies{}, io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(ErrInflates)), Received{Ref: model.BodyRef{Size: 2, Cut: true}}, ErrInflates.Error() + "; the rest was dropped"},
	} {
		got := Receive(c.bodies.Sink("a"), c.r, nil)
		if got.Ref.Size != c.want.Ref.Size || got.Ref.Cut != c.want.Ref.Cut || got.Ref.Incomplete != c.want.Ref.Incomplete || !errors.Is(got.Err, c.want.Err) {
			t.Errorf("%s: %+v", name, got)
		}
		if note := len(got.Notes) == 1 && got.Notes[0] == (model.Evidence{Kind: "error", Text: c.note}); note != (c.note != "") {
			t.Errorf("%s: notes %+v", name, got.Notes)
		}
	}
	if b, err := os.ReadFile(filepath.Join(taken, "a.body")); err != nil || string(b) != "another body" {
		t.Errorf("the other body became %q, %v", b, err)
	}
}

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

func TestADiagnosisLooksAtTheHeadAlone(t *testing.T) {
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
