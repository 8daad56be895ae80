package files

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

// childEnv names what this test binary does in place of the tests, and dirEnv the folder in which it does so.
const (
	childEnv = "ZONEDECK_BATCH_FILES_CHILD"
	dirEnv   = "ZONEDECK_BATCH_FILES_DIR"
)

var children = map[string]func() int{"append": appendUntilKilled, "limited": appendUntilFull, "plan": planUntilKilled}

func child(t *testing.T, what, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), noerr.Try(os.Executable()).Must(t), "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+what, dirEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// three are the results before a crash, and where the last one begins.
func three(t *testing.T, dir string) (lines []Line, before, at Length) {
	t.Helper()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	for n := range int64(3) {
		before = l.at
		line := Line{N: n}
		noerr.Must(t, l.Append(&line, fmt.Appendf(nil, "the body of %d", n)))
		lines = append(lines, line)
	}
	at = noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	return lines, before, at
}

// tail is what Tail gives of a worker.
func tail(dir, worker string, from Length) (lines []Line, at Length, err error) {
	err = Tail(dir, worker, func() (Length, error) { return from, nil }, func(all []Line, length Length) error {
		lines, at = all, length
		return nil
	})
	return lines, at, err
}

func TestATailIsTakenInByOneAtATime(t *testing.T) {
	dir := t.TempDir()
	three(t, dir)
	none := func([]Line, Length) error { return nil }
	another := func() error { return Tail(dir, "w1", func() (Length, error) { return Length{}, nil }, none) }
	asked, taken := error(nil), error(nil)
	err := Tail(dir, "w1", func() (Length, error) { asked = another(); return Length{}, nil }, func([]Line, Length) error { taken = another(); return nil })
	if err != nil || !errors.Is(asked, textfile.ErrLocked) || !errors.Is(taken, textfile.ErrLocked) {
		t.Errorf("%v; another one meanwhile: %v, %v", err, asked, taken)
	}
	noerr.Must(t, another())
	no := errors.New("the database is gone")
	if err := Tail(dir, "w1", func() (Length, error) { return Length{}, no }, none); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := Tail(dir, "w1", func() (Length, error) { return Length{}, nil }, func([]Line, Length) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
}

func TestACrashAtAnyByteOfTheLastResultLosesOnlyThatOne(t *testing.T) {
	dir := t.TempDir()
	_, before, at := three(t, dir)
	results, segment := filepath.Join(dir, resultsName("w1")), filepath.Join(dir, segmentName("w1", 1))
	lines, bodies := noerr.Try(os.ReadFile(results)).Must(t), noerr.Try(os.ReadFile(segment)).Must(t)
	type cut struct{ lines, bytes int64 }
	cuts := []cut{{at.Lines, at.Bytes}}
	for n := before.Bytes; n < at.Bytes; n++ {
		cuts = append(cuts, cut{at.Lines, n}, cut{before.Lines, n}) // a power cut; a kill
	}
	for n := before.Lines; n < at.Lines; n++ {
		cuts = append(cuts, cut{n, at.Bytes})
	}
	for i, c := range cuts {
		noerr.Must(t, os.WriteFile(results, lines[:c.lines], 0o600))
		noerr.Must(t, os.WriteFile(segment, bodies[:c.bytes], 0o600))
		want, end := []int64{1, 2}, at
		if c != (cut{at.Lines, at.Bytes}) {
			want, end = []int64{1}, before
		}
		first := Length{before.Lines / 2, 1, before.Bytes / 2} // where the second begins: their lines are equally long
		got, length, err := tail(dir, "w1", first)
		if err != nil || !slices.Equal(numbers(got), want) || length != end {
			t.Fatalf("%+v: %v, %+v, %v", c, numbers(got), length, err)
		}
		if i%10 != 0 { // what follows syncs some files
			continue
		}
		l := noerr.Try(OpenLog(dir, "w1")).Must(t)
		if l.at != end {
			t.Fatalf("%+v: the log goes on at %+v", c, l.at)
		}
		noerr.Must(t, l.Append(&Line{N: 9}, []byte("another")))
		length = noerr.Try(l.Sync()).Must(t)
		noerr.Must(t, l.Close())
		all := collect(t, dir, map[string]Length{"w1": length}, false)
		if !slices.Equal(numbers(all), append(append([]int64{0}, want...), 9)) || read(t, dir, all[len(all)-1]) != "another" || read(t, dir, all[1]) != "the body of 1" {
			t.Fatalf("%+v: %v", c, numbers(all))
		}
	}
}

func TestABodyWithoutALineIsCut(t *testing.T) {
	dir := t.TempDir()
	_, before, _ := three(t, dir)
	noerr.Must(t, os.Truncate(filepath.Join(dir, resultsName("w1")), before.Lines))
	for n := int64(2); n < 4; n++ { // it had begun further segments
		noerr.Must(t, os.WriteFile(filepath.Join(dir, segmentName("w1", n)), []byte("torn"), 0o600))
	}
	got, length, err := tail(dir, "w1", before)
	names := noerr.Try(os.ReadDir(filepath.Join(dir, bodiesFolder))).Must(t)
	if err != nil || len(got) != 0 || length != before || len(names) != 1 {
		t.Errorf("%+v, %+v, %v, %v", got, length, names, err)
	}
	if got, length, err := tail(t.TempDir(), "w1", Length{}); err != nil || len(got) != 0 || length != (Length{}) {
		t.Errorf("a worker that wrote nothing: %+v, %+v, %v", got, length, err)
	}
}

func TestTheTailMayHaveSeveralSegments(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	l.segmentLimit = recordHead + 1
	for n := range int64(4) {
		noerr.Must(t, l.Append(&Line{N: n}, []byte{byte('a' + n)}))
	}
	want := l.at
	noerr.Must(t, l.Close())
	got, at, err := tail(dir, "w1", Length{want.Lines / 4, 1, recordHead + 1})
	if err != nil || at != want || !slices.Equal(numbers(got), []int64{1, 2, 3}) {
		t.Errorf("%+v, %+v, %v", got, at, err)
	}
	noerr.Must(t, os.Remove(filepath.Join(dir, segmentName("w1", 1))))
	if _, _, err := tail(dir, "w1", Length{want.Lines / 4, 1, recordHead + 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWhatWasCommittedMustBeThere(t *testing.T) {
	for want, cut := range map[string]func(dir string, at Length) error{
		"results-w1.ndjson is damaged: it has 100 bytes, and 804 were committed": func(dir string, _ Length) error { return os.Truncate(filepath.Join(dir, resultsName("w1")), 100) },
		"w1-001.seg is damaged: it has 100 bytes, and 207 were committed":        func(dir string, _ Length) error { return os.Truncate(filepath.Join(dir, segmentName("w1", 1)), 100) },
	} {
		dir := t.TempDir()
		_, _, at := three(t, dir)
		noerr.Must(t, cut(dir, at))
		_, _, err := tail(dir, "w1", at)
		wantError(t, err, want)
		if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	}
}

func TestATailThatSomebodyChangedStaysAsItIs(t *testing.T) {
	for old, change := range map[string]struct{ now, want string }{
		`{"n":1,`:    {`{"n":x,`, `results-w1.ndjson, line 2: damaged: invalid character 'x' looking for beginning of value`},
		`"sha256":"`: {`"sha256":"0`, "line 1: damaged: it is not as it was written"},
	} {
		dir := t.TempDir()
		three(t, dir)
		path := filepath.Join(dir, resultsName("w1"))
		text := strings.Replace(string(noerr.Try(os.ReadFile(path)).Must(t)), old, change.now, 1)
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err := tail(dir, "w1", Length{})
		wantError(t, err, change.want)
		if now := noerr.Try(os.ReadFile(path)).Must(t); string(now) != text {
			t.Error("it was changed")
		}
	}
}

func TestABlockThatAPowerCutLeftUnwrittenEndsTheTail(t *testing.T) {
	dir := t.TempDir()
	lines, _, at := three(t, dir)
	path := filepath.Join(dir, resultsName("w1"))
	text := noerr.Try(os.ReadFile(path)).Must(t)
	clear(text[at.Lines/3+10 : at.Lines/3+20])
	noerr.Must(t, os.WriteFile(path, text, 0o600))
	got, _, err := tail(dir, "w1", Length{})
	if err != nil || !slices.Equal(numbers(got), []int64{lines[0].N}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNothingOfADamagedBodyIsGivenAway(t *testing.T) {
	dir := t.TempDir()
	lines, _, at := three(t, dir)
	path := filepath.Join(dir, segmentName("w1", 1))
	raw := noerr.Try(os.ReadFile(path)).Must(t)
	for n := range at.Bytes / 3 {
		b := slices.Clone(raw)
		b[n] ^= 1
		noerr.Must(t, os.WriteFile(path, b, 0o600))
		wantError(t, noerr.From(OpenBody(dir, *lines[0].BodyAt)), "w1-001.seg is damaged: no whole body stands at byte 0")
		if got := read(t, dir, lines[1]); got != "the body of 1" {
			t.Errorf("byte %d: %q", n, got)
		}
	}
	for _, at := range []BodyAt{{"w1", 1, 1, 13}, {"w1", 1, -1, 13}, {"w1", 1, at.Bytes, 13}, {"w1", 1, 0, 0}, {"w1", 1, 0, 12}, {"w1", 0, 0, 13}, {"w1", 1, 1 << 62, 1 << 62}, {"w1", 1, 0, maxSegment + 1}} {
		if _, err := OpenBody(dir, at); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v", at, err)
		}
	}
}

// planUntilKilled plans a batch and waits for its end.
func planUntilKilled() int {
	s, err := NewSpool(filepath.Join(os.Getenv(dirEnv), "b1"))
	for n := 0; n < 1000 && err == nil; n++ {
		err = s.Add([]byte("an item"), keyOf(strconv.Itoa(n)))
	}
	fmt.Println("planning", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 1
}

func TestAKilledPlannerLeavesNothing(t *testing.T) {
	above := t.TempDir()
	cmd := child(t, "plan", above)
	in := noerr.Try(cmd.StdinPipe()).Must(t)
	defer in.Close()
	out := noerr.Try(cmd.StdoutPipe()).Must(t)
	noerr.Must(t, cmd.Start())
	if text, err := bufio.NewReader(out).ReadString('\n'); text != "planning <nil>\n" {
		t.Fatal(text, err)
	}
	folders := func() int { return len(noerr.Try(filepath.Glob(filepath.Join(above, planningPrefix+"*"))).Must(t)) }
	noerr.Must(t, Sweep(above, nil))
	if folders() != 1 {
		t.Error("a living planner's folder was swept")
	}
	noerr.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	noerr.Must(t, Sweep(above, nil))
	if signs := noerr.Try(os.ReadDir(filepath.Join(above, signsFolder))).Must(t); folders() != 0 || len(signs) != 0 {
		t.Errorf("%d folders, %v", folders(), signs)
	}
}

// appendUntilKilled marks items as sent and appends their results, one after the other. It prints the number of each that
// Append took and each length that Sync gave.
func appendUntilKilled() int {
	l, err := OpenLog(os.Getenv(dirEnv), "w1")
	items, missing := OpenItems(os.Getenv(dirEnv))
	if err = errors.Join(err, missing); err != nil {
		fmt.Println("error", err)
		return 1
	}
	l.segmentLimit = 20_000
	next, _ := strconv.ParseInt(os.Getenv(childEnv+"_FROM"), 10, 64)
	for n := next; n < next+1_000_000 && err == nil; n++ {
		if err = items.MarkSent(n, 1); err == nil {
			err = l.Append(&Line{N: n}, fmt.Appendf(nil, "%01000d", n))
		}
		if err == nil {
			fmt.Println("took", n)
		}
		if n%20 == 0 && err == nil {
			var at Length
			if at, err = l.Sync(); err == nil {
				fmt.Println("synced", at.Lines, at.Segment, at.Bytes)
			}
		}
	}
	fmt.Println("error", err)
	return 1
}

func TestAKilledAppenderLosesNothingThatItTook(t *testing.T) {
	dir := plan(t, slices.Repeat([]string{"an item"}, 100_000)...)
	items := noerr.Try(OpenItems(dir)).Must(t)
	defer items.Close()
	kills := noerr.Try(strconv.Atoi(cmp.Or(os.Getenv("ZONEDECK_BATCH_KILLS"), "5"))).Must(t)
	var end Length
	next := int64(0)
	for round := range kills {
		cmd := child(t, "append", dir)
		cmd.Env = append(cmd.Env, fmt.Sprint(childEnv, "_FROM=", next))
		out := noerr.Try(cmd.StdoutPipe()).Must(t)
		noerr.Must(t, cmd.Start())
		committed, took, lines := end, next-1, 0
		for words := bufio.NewScanner(out); words.Scan(); lines++ {
			switch text := words.Text(); {
			case strings.HasPrefix(text, "took "):
				took = noerr.Try(strconv.ParseInt(text[5:], 10, 64)).Must(t)
			case strings.HasPrefix(text, "synced "):
				noerr.Must(t, noerr.From(fmt.Sscan(text[7:], &committed.Lines, &committed.Segment, &committed.Bytes)))
			default:
				t.Error(text)
			}
			if lines == 100+37*round%200 {
				noerr.Must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // it was killed
		got, length, err := tail(dir, "w1", committed)
		noerr.Must(t, err)
		all := collect(t, dir, map[string]Length{"w1": length}, false)
		if last := all[len(all)-1].N; last < took || last > took+1 || len(got) > 21 {
			t.Errorf("it took %d, and %d is the last; %d lines after those that were committed", took, last, len(got))
		}
		for n, line := range all {
			if line.N != int64(n) {
				t.Fatalf("line %d is of item %d", n, line.N)
			}
			if line.N >= next {
				noerr.Must(t, noerr.From(OpenBody(dir, *line.BodyAt)))
			}
		}
		end, next = length, int64(len(all))
		for k := range int(next/SliceItems) + 1 {
			for _, item := range noerr.Try(items.Slice(k)).Must(t) {
				if item.Sent == 0 && item.N < next || item.Sent > 0 && item.N > next {
					t.Fatalf("item %d of %d was marked %d times", item.N, next, item.Sent)
				}
			}
		}
	}
	if next < int64(50*kills) || end.Segment < 3 {
		t.Errorf("only %d results in %d segments", next, end.Segment)
	}
}
