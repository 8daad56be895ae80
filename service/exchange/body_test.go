package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/bodytext"
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
			b := Bodies{Dir: dir, Memory: memory, Cap: limit}
			got := Receive(b.Sink(b.Path("f-1")), r, nil)
			noerr.Want(t, got.Keep(true))
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
			noerr.Must(t, err)
			back, err := io.ReadAll(src)
			if err != nil || string(back) != want || src.Close() != nil {
				t.Errorf("%d bytes %s: %q came back, %v", size, name, back, err)
			}
			got.Discard() // does not remove a body that was kept
			if _, err := os.Stat(wantFile); c.onDisk && err != nil {
				t.Errorf("%d bytes %s: after Discard %v", size, name, err)
			}
		}
	}
}

func TestAnIntendedCutLeavesNoNote(t *testing.T) {
	for n, want := range map[int64]int64{5: 5, 50: 20} {
		s := Bodies{Cap: 20}.Sink("")
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
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		sink  *Sink
		r     io.Reader
		want  Received
		notes []string // how each note begins; the system's error text follows
	}{
		"no folder":  {Bodies{Memory: 3}.Sink(Bodies{}.Path("a")), strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, []string{onDisk + "0 bytes: no folder for bodies is set"}},
		"a file":     {Bodies{Memory: 3}.Sink(filepath.Join(file, "a")), strings.NewReader("abcd"), Received{Ref: model.BodyRef{Cut: true}}, []string{onDisk + "0 bytes: mkdir " + file + ": "}},
		"a cut line": {Bodies{}.Sink(""), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), Received{Ref: model.BodyRef{Size: 2, Incomplete: true}, Err: broken}, nil},
		"a bomb":     {Bodies{}.Sink(""), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(bodytext.ErrInflates)), Received{Ref: model.BodyRef{Size: 2, Cut: true}}, []string{bodytext.ErrInflates.Error() + "; the rest was dropped"}},
	} {
		got := Receive(c.sink, c.r, nil)
		if got.Ref.Size != c.want.Ref.Size || got.Ref.Cut != c.want.Ref.Cut || got.Ref.Incomplete != c.want.Ref.Incomplete || !errors.Is(got.Err, c.want.Err) {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.EqualFunc(got.Notes, c.notes, func(e model.Evidence, text string) bool { return e.Kind == "error" && strings.HasPrefix(e.Text, text) }) {
			t.Errorf("%s: notes %+v", name, got.Notes)
		}
	}
}

func TestABodyIsInItsPlaceOnceItIsKept(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "page.html")
	noerr.Must(t, os.WriteFile(place, []byte("the page before"), 0o600))
	want := func(files int, page string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		b, rerr := os.ReadFile(place)
		if len(entries) != files || err != nil || rerr != nil || string(b) != page {
			t.Errorf("%v, %q, %v", entries, b, errors.Join(err, rerr))
		}
	}
	receive := func() Received { return Receive(Bodies{Memory: 3}.Sink(place), strings.NewReader("abcd"), nil) }
	got := receive()
	want(2, "the page before")
	got.Discard()
	want(1, "the page before")
	got = receive()
	if err := got.Keep(true); err != nil || got.Ref.File != place {
		t.Errorf("%s, %v", got.Ref.File, err)
	}
	want(1, "abcd")

	got = receive()
	got.file.Close() // the disk is gone
	if err := got.Keep(true); err == nil || got.Ref.File == place {
		t.Errorf("%s, %v", got.Ref.File, err)
	}
	got.Discard() // removes nothing: the result refers to the file
	want(2, "abcd")
	if b, err := os.ReadFile(got.Ref.File); err != nil || string(b) != "abcd" {
		t.Errorf("%s holds %q, %v", got.Ref.File, b, err)
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

func TestADiagnosisReadsOnlyTheHead(t *testing.T) {
	s := Bodies{}.Sink("")
	for _, n := range []int{headSize - 1, 2, 5} {
		noerr.Must(t, noerr.From(s.Write(make([]byte, n))))
	}
	if len(s.head) != headSize {
		t.Errorf("the head has %d bytes", len(s.head))
	}
}

// What goes through a buffer is wiped before the next body gets it, also where a long secret makes the mask need more.
func TestABufferShowsNothingOfTheBodyBefore(t *testing.T) {
	for _, secret := range []string{"", "a-secret-of-the-tests", strings.Repeat("s", roomSize)} {
		mask := MaskOf(keystore.NewSecret(secret), Login{})
		for i := range 20 {
			body := bytes.Repeat([]byte(fmt.Sprintf("<p>answer %d</p>", i)), 1+i*500)
			got := Receive(Bodies{}.Sink(""), mask.Reader(iotest.HalfReader(bytes.NewReader(body))), nil)
			if !bytes.Equal(got.Ref.Bytes, body) || got.Err != nil {
				t.Errorf("%d: %d bytes came of %d: %v", i, len(got.Ref.Bytes), len(body), got.Err)
			}
			one, other := rooms.Get().(*[roomSize]byte), rooms.Get().(*[roomSize]byte)
			if *one != ([roomSize]byte{}) || *other != ([roomSize]byte{}) {
				t.Errorf("%d: a buffer holds bytes of it", i)
			}
			rooms.Put(one)
			rooms.Put(other)
		}
	}
}
