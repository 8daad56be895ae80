package collection_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/saved"
	"zonedeck/ui"
	"zonedeck/ui/collection"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// slowStore takes its time for a change.
type slowStore struct {
	*saved.Store
	slow     time.Duration
	fails    error // of a deletion
	restored []string
}

func (s *slowStore) Delete(ctx context.Context, name string) error {
	<-time.After(s.slow)
	if s.fails != nil {
		return s.fails
	}
	return s.Store.Delete(ctx, name)
}

func (s *slowStore) Restore(ctx context.Context, name string) error {
	s.restored = append(s.restored, name)
	return s.Store.Restore(ctx, name)
}

// bench is the overlay over a store with three requests.
type bench struct {
	*uitest.Screen
	store   *slowStore
	picked  string
	renamed [2]string
}

func open(t *testing.T, names ...string) *bench {
	t.Helper()
	b := &bench{store: &slowStore{Store: saved.New(t.TempDir())}}
	for _, name := range names {
		r := model.FetchRequest{Zone: model.Zone{Name: "unlocker_demo"}, URL: "http://lab.test/" + name + "?{{q}}", Via: model.ViaNative, Method: "POST", Body: "b", Retries: -1}
		noerr.Must(t, noerr.From(b.store.Save(t.Context(), name, r, false)))
	}
	theme := kit.NewTheme(true, false)
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs: []ui.Tab{{ID: kit.Sandbox, View: &uitest.OtherTab{}}},
	})
	b.Screen = uitest.Start(t, app, 100, 30)
	b.open(t)
	return b
}

// open opens the overlay, for the first time or again.
func (b *bench) open(t *testing.T) {
	t.Helper()
	b.Send(kit.Open{Overlay: collection.New(collection.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: kit.NewTheme(true, false), Store: b.store,
		Form: b,
	})})
}

func (b *bench) OpenSaved(name string) tea.Cmd {
	b.picked = name
	return kit.Info("picked " + name)
}

func (b *bench) RenamedSaved(from, to string) { b.renamed = [2]string{from, to} }

func (b *bench) names(t *testing.T) []string {
	t.Helper()
	list, err := b.store.List(t.Context())
	noerr.Must(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

func TestARequestIsFoundByTypingAndPicked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "start", "shop/cart", "shop/de/list")
		b.Expect("Saved requests", "start", "▾ shop/", "2 requests", "cart", "▾ de/", "by Native · POST · body 1 B · variables q")
		b.Type("li shop")
		b.Expect("▾ de/", "list")
		b.ExpectNot("cart", "lab.test/start")
		b.Press("enter")
		b.Expect("picked shop/de/list")
	})
}

func TestTypingGoesToTheRequestOfThatName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "alpha", "test", "zeta")
		b.Type("test") // in every URL, too
		b.Expect("alpha", "zeta")
		b.Press("enter")
		b.Expect("picked test")
	})
}

func TestARequestIsRenamedAndDeletedAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "shop/cart")
		b.Press("ctrl+r")
		b.Expect("Rename a")
		b.Type("/new")
		b.Press("ctrl+s")
		b.Expect("a is a/new now.", "▾ a/")
		if got := b.names(t); !slices.Equal(got, []string{"a/new", "shop/cart"}) || b.renamed != [2]string{"a", "a/new"} {
			t.Errorf("%q, told %q", got, b.renamed)
		}
		b.Press("ctrl+d")
		b.Expect("Removed a/new.", ".deleted")
		b.ExpectNot("▾ a/")
		if got := b.names(t); !slices.Equal(got, []string{"shop/cart"}) {
			t.Errorf("%q", got)
		}
		b.Press("ctrl+u")
		b.Expect("a/new is back.", "▾ a/")
		if got := b.names(t); !slices.Equal(got, []string{"a/new", "shop/cart"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestAFolderIsRenamedAndNotOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "shop/cart", "shop/list")
		b.Press("up", "enter")
		b.Expect("this is a folder")
		b.Press("ctrl+r")
		b.Expect("Rename shop")
		b.Type("s")
		b.Press("ctrl+s")
		b.Expect("shop is shops now.", "▾ shops/")
		if got := b.names(t); !slices.Equal(got, []string{"shops/cart", "shops/list"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestANameThatIsTakenIsToldAndAnEmptyListSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "b")
		b.AllowError("a request of this name is already saved: b")
		b.Press("ctrl+r")
		b.Press("backspace")
		b.Type("b")
		b.Press("ctrl+s")
		b.Expect("a request of this name is already saved: b")
		if b.renamed != [2]string{} {
			t.Errorf("it was told of the rename %q, which failed", b.renamed)
		}
		b.Press("ctrl+d", "ctrl+d")
		b.Expect("No request is saved.", "ctrl+u brings b back")
	})
}

func TestADeletionCanBeUndoneOnlyWhenItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "b", "c")
		b.Press("ctrl+d")
		b.Expect("Removed a.")
		b.store.slow = 2 * time.Second
		b.Press("ctrl+d", "ctrl+u")
		b.Expect("a change is in progress")
		b.Press("esc")
		b.Expect("Saved requests")
		if len(b.store.restored) > 0 {
			t.Fatalf("while b was being deleted, %q was brought back", b.store.restored)
		}
		b.After(time.Minute)
		b.Press("ctrl+u", "ctrl+u")
		if got := b.store.restored; !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("%q was brought back", got)
		}
	})
}

func TestADeletionThatFailedIsNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "b")
		b.store.fails = errors.New("the disk is full")
		b.AllowError("the disk is full")
		b.Press("ctrl+d", "ctrl+u")
		b.Expect("no removed request is kept")
		if len(b.store.restored) > 0 {
			t.Errorf("%q was brought back, whose deletion had failed", b.store.restored)
		}
	})
}

func TestADeletionIsUndoneAfterTheDialogWasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "shop/b", "shop/c")
		b.Press("ctrl+d")
		b.Expect("Removed a. ctrl+u brings it back, later O in the Sandbox")
		b.Press("ctrl+d", "esc")
		b.open(t)
		b.ExpectNot("lab.test/a", "lab.test/shop/b")
		b.Press("ctrl+u")
		b.Expect("shop/b is back.", "lab.test/shop/b")
		b.ExpectNot("Removed")
		b.Press("ctrl+u")
		b.Expect("a is back", "lab.test/a")
		b.Press("ctrl+u")
		b.Expect("no removed request is kept")
		if got := b.names(t); !slices.Equal(got, []string{"a", "shop/b", "shop/c"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestAClickSelectsARowAndAPasteHasNoInvisibleCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, "a", "b", "c")
		b.Click(" c ")
		b.Press("enter")
		b.Expect("picked c")
		b = open(t, "a", "shop")
		b.Paste("s\u200bh\u202eop")
		b.Press("enter")
		b.Expect("picked shop")
	})
}
