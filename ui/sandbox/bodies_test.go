package sandbox_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// keepOnDisk puts fetches into the history whose bodies are files, each named as
// its fetch.
func (b *bench) keepOnDisk(ids ...string) {
	for _, id := range ids {
		text := "the body of " + id + "\n"
		res := okResult(model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/ok", Via: model.ViaAPI})
		res.ID, res.Body = id, model.BodyRef{File: id, Size: int64(len(text))}
		b.svc.kept[id], b.files.bodies[id] = res, text
	}
}

func (b *bench) openFetch(id string) {
	b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: id}})
}

// expectFiles compares how often each file was opened and closed.
func (b *bench) expectFiles(t *testing.T, opens, closes map[string]int) {
	t.Helper()
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	if !maps.Equal(b.files.opens, opens) || !maps.Equal(b.files.closes, closes) {
		t.Errorf("opened %v, closed %v; want %v and %v", b.files.opens, b.files.closes, opens, closes)
	}
}

func TestABodyOnDiskIsClosedWhenAnotherResultIsShown(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.keepOnDisk("f_1", "f_2")
		b.openFetch("f_1")
		b.Expect("the body of f_1")
		b.expectFiles(t, map[string]int{"f_1": 1}, map[string]int{})
		b.files.slow["f_2"] = time.Second
		b.openFetch("f_2")
		b.ExpectNot("the body of f_1") // beside another request it would mislead
		b.After(2 * time.Second)
		b.Expect("the body of f_2")
		b.expectFiles(t, map[string]int{"f_1": 1, "f_2": 1}, map[string]int{"f_1": 1})
		b.Press("ctrl+j") // its body is in memory
		b.Expect("<title>The lab</title>")
		b.expectFiles(t, map[string]int{"f_1": 1, "f_2": 1}, map[string]int{"f_1": 1, "f_2": 1})
	})
}

func TestABodyThatOpensTooLateIsClosed(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.keepOnDisk("f_slow", "f_new")
		b.files.slow["f_slow"] = time.Second
		b.openFetch("f_slow")
		b.openFetch("f_new")
		b.After(2 * time.Second)
		b.Expect("the body of f_new")
		b.expectFiles(t, map[string]int{"f_slow": 1, "f_new": 1}, map[string]int{"f_slow": 1})
	})
}

func TestABodyOnDiskIsClosedWhenItHasBeenCopied(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.keepOnDisk("f_1", "f_large")
		b.files.bodies["f_large"] = strings.Repeat("x", 9<<20)
		b.openFetch("f_1")
		b.Press("y", "b")
		b.Expect("sent body (")
		b.expectFiles(t, map[string]int{"f_1": 2}, map[string]int{"f_1": 1}) // the viewer keeps it open
		b.openFetch("f_large")
		b.AllowError("it is larger than")
		b.Press("y", "b")
		b.expectFiles(t, map[string]int{"f_1": 2, "f_large": 2}, map[string]int{"f_1": 2, "f_large": 1})
	})
}
