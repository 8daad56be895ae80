package work

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"zonedeck/internal/noerr"
)

// VictimFile makes a process of this test work on the queue in that file until it is killed.
const VictimFile = "ZONEDECK_TEST_WORK"

const hang = time.Minute // ends a test that would never end

// Victim prints a word for each item that it gets, and holds it forever.
func Victim(path string) {
	q, err := OpenFile(context.Background(), path, Options{Lease: time.Hour})
	if err == nil {
		err = q.Work(context.Background(), "x", 4, atItForEver(func() { fmt.Println("begun") }))
	}
	fmt.Println(err)
}

func atItForEver(begun func()) Handler {
	return func(ctx context.Context, _ Item) (time.Duration, error) {
		begun()
		<-ctx.Done()
		return 0, ctx.Err()
	}
}

func openQueue(t *testing.T, path string) *files {
	t.Helper()
	q := noerr.Try(OpenFile(t.Context(), path, Options{Lease: time.Hour})).Must(t)
	t.Cleanup(func() { _ = q.Close() })
	f, _ := q.(*files)
	noerr.Must(t, f.Put(t.Context(), Item{Lane: "x", Key: "k"}))
	return f
}

// atIt returns how many items are held after free has run.
func atIt(t *testing.T, q *files) int {
	t.Helper()
	noerr.Must(t, q.free(t.Context()))
	list := noerr.Try(q.client.JobList(t.Context(), running())).Must(t)
	return len(list.Jobs)
}

func leaderOf(t *testing.T, q *files) string {
	t.Helper()
	leader, err := q.driver.GetExecutor().LeaderGetElectedLeader(t.Context(), &riverdriver.LeaderGetElectedLeaderParams{})
	if errors.Is(err, rivertype.ErrNotFound) {
		return ""
	}
	noerr.Must(t, err)
	return leader.LeaderID
}

func TestWhatADeadProcessWasAtIsDueAndALivingOneKeepsIts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.db")
	q := openQueue(t, path)
	exe := noerr.Try(os.Executable()).Must(t)
	victim := exec.CommandContext(t.Context(), exe)
	victim.Env = append(os.Environ(), VictimFile+"="+path)
	out, err := victim.StdoutPipe()
	if err == nil {
		err = victim.Start()
	}
	noerr.Must(t, err)
	defer func() { _ = victim.Process.Kill() }() // it may be dead already
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatal(line, err)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.After(hang); leaderOf(t, q) == ""; {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("nobody leads")
		}
	}
	if n := atIt(t, q); n != 1 || leaderOf(t, q) == "" {
		t.Fatalf("of a living process: at %d items, leader %q", n, leaderOf(t, q))
	}
	noerr.Must(t, victim.Process.Kill())
	_ = victim.Wait() // it was killed
	if n := atIt(t, q); n != 0 || leaderOf(t, q) != "" {
		t.Errorf("of a dead process: at %d items, leader %q", n, leaderOf(t, q))
	}
	if signs, err := os.ReadDir(path + ".workers"); err != nil || len(signs) > 0 {
		t.Errorf("left: %v, %v", signs, err)
	}
	if items, err := q.Items(t.Context(), "x"); err != nil || len(items) != 1 || items[0].Due.After(time.Now()) {
		t.Errorf("%+v, %v", items, err)
	}
}

// unsigned gives no signs of life.
type unsigned struct{ signs }

func (unsigned) begin(context.Context, string) (string, func(), error) {
	return "other", func() {}, nil
}

// TestAWorkerWithoutASignKeepsItsLease has one as it is on another machine, or of a release that
// gave no signs.
func TestAWorkerWithoutASignKeepsItsLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.db")
	q, other := openQueue(t, path), openQueue(t, path)
	other.signs = unsigned{other.signs}
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- other.Work(ctx, "x", 1, atItForEver(func() { close(begun) })) }()
	select {
	case <-begun:
	case <-time.After(hang):
		t.Fatal("the item does not come")
	}
	if n := atIt(t, q); n != 1 {
		t.Errorf("at %d items", n)
	}
	cancel()
	noerr.Want(t, <-ended)
}
