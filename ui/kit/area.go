package kit

// Area is where a pane is drawn, in cells from the upper left corner of its
// view. A view draws from its areas and looks a click up in the same ones.
type Area struct {
	Pane, X, Y, W, H int
}

// AreaAt finds the area under a cell.
func AreaAt(areas []Area, x, y int) (Area, bool) {
	for _, a := range areas {
		if x >= a.X && x < a.X+a.W && y >= a.Y && y < a.Y+a.H {
			return a, true
		}
	}
	return Area{}, false
}
