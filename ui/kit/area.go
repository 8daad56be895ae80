package kit

// Area is where a pane is drawn, in cells from the upper left corner of its view.
type Area struct {
	Pane, X, Y, W, H int
	// Bare says that the pane has no frame around its lines.
	Bare bool
}

// Regions are the areas of the frame that a view drew last. Render notes them,
// and the mouse is looked up in them, so that it always means what is seen.
type Regions []Area

// Hit is what lies under the pointer: a pane, and the line of its content,
// counted from 0. A line that no content was drawn on (a frame, a folded pane) is
// -1.
type Hit struct{ Pane, Line int }

// At is what lies under a cell; false when nothing was drawn there.
func (r Regions) At(x, y int) (Hit, bool) {
	for _, a := range r {
		if x < a.X || x >= a.X+a.W || y < a.Y || y >= a.Y+a.H {
			continue
		}
		h := Hit{a.Pane, y - a.Y}
		if !a.Bare {
			if h.Line--; h.Line >= a.H-2 {
				h.Line = -1
			}
		}
		return h, true
	}
	return Hit{}, false
}

// Of is where a pane was drawn; false when it was not.
func (r Regions) Of(pane int) (Area, bool) {
	for _, a := range r {
		if a.Pane == pane {
			return a, true
		}
	}
	return Area{}, false
}
