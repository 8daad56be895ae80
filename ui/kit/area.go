package kit

// Area is where a pane is drawn, in cells from the upper left corner of its view.
type Area struct {
	Pane, X, Y, W, H int
	// Bare says that the pane has no frame around its lines.
	Bare bool
}

// Regions are the areas of the frame a view drew last. Render records them, so that
// a mouse position refers to what is on the screen.
type Regions []Area

// Hit is the pane under the pointer, and the line and the column of its content, counted
// from 0. The line is -1 on a frame or a folded pane.
type Hit struct{ Pane, Line, Col int }

// At returns the hit at a cell; false if nothing was drawn there.
func (r Regions) At(x, y int) (Hit, bool) {
	for _, a := range r {
		if x < a.X || x >= a.X+a.W || y < a.Y || y >= a.Y+a.H {
			continue
		}
		h := Hit{Pane: a.Pane, Line: y - a.Y, Col: x - a.X}
		if !a.Bare {
			h.Col--
			if h.Line--; h.Line >= a.H-2 {
				h.Line = -1
			}
		}
		return h, true
	}
	return Hit{}, false
}

// Pane returns the area of a pane; false if it was not drawn.
func (r Regions) Pane(pane int) (Area, bool) {
	for _, a := range r {
		if a.Pane == pane {
			return a, true
		}
	}
	return Area{}, false
}
