package kit

import "testing"

func TestThePointerHitsWhatWasDrawnThere(t *testing.T) {
	drawn := Regions{
		{Pane: 0, W: 10, H: 5},
		{Pane: 1, Y: 5, W: 10, H: 1}, // folded to one line
		{Pane: 2, X: 10, W: 10, H: 6, Bare: true},
	}
	for _, c := range []struct {
		name string
		x, y int
		want Hit
		ok   bool
	}{
		{"the upper frame", 3, 0, Hit{0, -1, 2}, true},
		{"the first line", 0, 1, Hit{0, 0, -1}, true},
		{"the last line", 9, 3, Hit{0, 2, 8}, true},
		{"the lower frame", 9, 4, Hit{0, -1, 8}, true},
		{"a folded pane", 9, 5, Hit{1, -1, 8}, true},
		{"a pane without a frame", 10, 0, Hit{2, 0, 0}, true},
		{"its last line", 19, 5, Hit{2, 5, 9}, true},
		{"outside", 20, 0, Hit{}, false},
		{"below", 0, 6, Hit{}, false},
	} {
		if hit, ok := drawn.At(c.x, c.y); hit != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v", c.name, hit, ok)
		}
	}
	if _, ok := (Regions{}).At(0, 0); ok {
		t.Error("something is under the pointer before anything was drawn")
	}
	if a, ok := drawn.Pane(2); !ok || a.X != 10 {
		t.Errorf("pane 2 was drawn at %v, %v", a, ok)
	}
}
