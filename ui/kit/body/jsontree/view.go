package jsontree

import (
	"cmp"
	"context"
	"sort"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/kit/widget"
)

const (
	// openRows is how many rows the levels that are open at first may have.
	openRows = 200
	// How many rows are read above and below the screen, and how close to the last row
	// that was read the screen may come.
	rowsAround = 200
	rowsMargin = 20
)

// View shows a body as a tree. The owning view passes it every message it does not handle
// itself.
type View struct {
	view  kit.ViewID
	ctx   context.Context // of the owning view; every load ends with it
	theme *kit.Theme
	src   body.Source

	x       index
	reading int64 // bytes indexed so far
	err     error
	folded  []bool  // by node
	rows    []int32 // the nodes that are not folded away
	labels  map[int32]label
	pos     struct{ top, at, w, h int }
	path    nodePath
	slots   struct{ build, load, path kit.Slot }
}

// nodePath is the path of a node, or why it has none.
type nodePath struct {
	node              int32
	text, unavailable string
}

// intent is what a key of the tree does.
type intent int

const (
	toggle intent = iota
	closeOrUp
	openOrDown
	deeper
	shallower
	openAll
	foldAll
	copyPath
)

// New makes an empty tree for a view; ctx ends its loads.
func New(ctx context.Context, view kit.ViewID, theme *kit.Theme) *View {
	v := &View{view: view, ctx: ctx, theme: theme}
	v.Close()
	return v
}

// Open indexes another body; built, which may be nil, follows when it was read; see Fault and Empty. The view does not close its reader.
func (v *View) Open(src body.Source, built func() tea.Cmd) tea.Cmd {
	v.Close()
	v.src = src
	if src.Reader == nil || src.Size <= 0 {
		return nil
	}
	return kit.Follow(v.view, &v.slots.build, v.ctx, func(ctx context.Context, emit func(int64)) (index, error) {
		return build(src.Reader, src.Size, func() bool { return ctx.Err() != nil }, emit)
	}, func(n int64) tea.Cmd {
		v.reading = n
		return nil
	}, func(x index, err error) tea.Cmd {
		if err != nil {
			v.err = err
			return nil
		}
		v.x = x
		v.folded = make([]bool, len(v.x.nodes))
		v.openTo(v.levelFor(openRows))
		if built == nil {
			return v.moved()
		}
		return tea.Batch(v.moved(), built())
	})
}

// Opened reports whether a body is shown.
func (v *View) Opened() bool { return v.src.Reader != nil }

// Close empties the tree.
func (v *View) Close() {
	v.slots.build.Drop()
	v.slots.load.Drop()
	v.slots.path.Drop()
	v.src, v.x, v.err, v.reading = body.Source{}, index{}, nil, 0
	v.folded, v.rows, v.labels = nil, nil, nil
	v.pos.top, v.pos.at = 0, 0
	v.path = nodePath{node: -1}
}

// Fault says where the body stops being JSON, or is nil. It is known once the body was
// read.
func (v *View) Fault() *Fault { return v.x.fault }

// Empty reports whether the body was read and holds no value that can be shown.
func (v *View) Empty() bool { return v.x.done && len(v.x.nodes) == 0 }

// Bindings are the tree's keys.
func (v *View) Bindings() []kit.Binding {
	const group = "Tree"
	none := kit.Reason(len(v.rows) == 0, "there is no tree")
	noPath := none
	if none == "" && v.path.text == "" {
		noPath = cmp.Or(v.path.unavailable, "the path is being read")
	}
	return widget.WithMotion([]kit.Binding{
		{Name: "tree.fold", Keys: []string{"enter", "space"}, Label: "fold", Help: "Fold or unfold the value.", Group: group, Intent: toggle, Disabled: none},
		{Name: "tree.left", Keys: []string{"left", "h"}, Label: "fold or up", Help: "Fold the value, or go to the one around it.", Group: group, Intent: closeOrUp, Disabled: none, Hidden: true},
		{Name: "tree.right", Keys: []string{"right", "l"}, Label: "unfold or down", Help: "Unfold the value, or go to the first one in it.", Group: group, Intent: openOrDown, Disabled: none, Hidden: true},
		{Name: "tree.unfold-level", Keys: []string{"+", "="}, Label: "level", Help: "Unfold one level more everywhere.", Group: group, Intent: deeper, Disabled: none},
		{Name: "tree.fold-level", Keys: []string{"-"}, Label: "level less", Help: "Fold the deepest level that is open.", Group: group, Intent: shallower, Disabled: none, Hidden: true},
		{Name: "tree.unfold-all", Keys: []string{"*"}, Label: "unfold all", Help: "Unfold everything.", Group: group, Intent: openAll, Disabled: none, Hidden: true},
		{Name: "tree.fold-all", Keys: []string{"_"}, Label: "fold all", Help: "Fold everything.", Group: group, Intent: foldAll, Disabled: none, Hidden: true},
		{Name: "tree.copy-path", Keys: []string{"Y"}, Label: "copy path", Help: "Copy the path of the value, as jq writes it.", Group: group, Intent: copyPath, Disabled: noPath},
	})
}

// Update handles the tree's intents, and the keys and wheel messages that
// the owning view passes on.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case intent:
		return v.act(msg)
	case tea.KeyPressMsg:
		if by, ok := widget.Motion(msg.String(), max(v.pos.h-1, 1), len(v.rows)); ok {
			return v.move(by)
		}
	case tea.MouseWheelMsg:
		if by, ok := widget.Wheel(msg); ok {
			return v.move(by)
		}
	}
	return nil
}

func (v *View) act(i intent) tea.Cmd {
	if len(v.rows) == 0 {
		return nil
	}
	n := v.rows[v.pos.at]
	at := v.x.nodes[n]
	switch i {
	case toggle:
		v.fold(n, !v.folded[n])
	case closeOrUp:
		if at.open() && at.count > 0 && !v.folded[n] {
			v.fold(n, true)
		} else if at.parent >= 0 {
			v.pos.at = v.rowOf(at.parent)
		}
	case openOrDown:
		if v.folded[n] {
			v.fold(n, false)
		} else if at.open() && at.count > 0 {
			v.pos.at++
		}
	case deeper:
		v.openTo(v.deepest() + 1)
	case shallower:
		v.openTo(v.deepest() - 1)
	case openAll:
		v.openTo(1 << 30)
	case foldAll:
		v.openTo(0)
	case copyPath:
		return kit.CopyText("path", v.path.text)
	}
	return v.moved()
}

// fold folds or unfolds one value.
func (v *View) fold(n int32, on bool) {
	if at := v.x.nodes[n]; at.open() && at.count > 0 {
		v.folded[n] = on
		v.list()
	}
}

// openTo unfolds the values above a depth and folds those at it and below. The cursor
// goes to what its value is folded into.
func (v *View) openTo(depth int) {
	for i, n := range v.x.nodes {
		v.folded[i] = n.open() && n.count > 0 && int(n.depth) >= depth
	}
	v.list()
}

// deepest is how many levels are open where the most are.
func (v *View) deepest() int {
	most := 0
	for _, i := range v.rows {
		if n := v.x.nodes[i]; n.open() && n.count > 0 && !v.folded[i] {
			most = max(most, int(n.depth)+1)
		}
	}
	return most
}

// levelFor is the number of levels to open so that there are at most rows rows, and 1 at
// least.
func (v *View) levelFor(rows int) int {
	var at [64]int // nodes by depth
	for _, n := range v.x.nodes {
		at[min(int(n.depth), len(at)-1)]++
	}
	sum := at[0]
	for depth := 1; depth < len(at); depth++ {
		if sum += at[depth]; sum > rows {
			return max(depth-1, 1)
		}
	}
	return len(at)
}

// list lists the rows anew and keeps the cursor on its value, or on what it is folded into.
func (v *View) list() {
	on := int32(0)
	if v.pos.at < len(v.rows) {
		on = v.rows[v.pos.at]
	}
	v.rows = v.rows[:0]
	for i := int32(0); int(i) < len(v.x.nodes); {
		v.rows = append(v.rows, i)
		if v.folded[i] {
			i = v.x.nodes[i].next
		} else {
			i++
		}
	}
	v.pos.at = v.rowOf(on)
}

// rowOf is the last row at or before a node.
func (v *View) rowOf(n int32) int {
	return max(sort.Search(len(v.rows), func(i int) bool { return v.rows[i] > n })-1, 0)
}

func (v *View) move(by int) tea.Cmd {
	v.pos.at = max(min(v.pos.at+by, len(v.rows)-1), 0)
	return v.moved()
}

// moved keeps the cursor on the screen, and reads what is missing there and its path.
func (v *View) moved() tea.Cmd {
	if len(v.rows) == 0 {
		return nil
	}
	v.follow()
	n := v.rows[v.pos.at]
	if v.path.node == n {
		return v.ensure()
	}
	v.path = nodePath{node: n}
	r, up := v.src.Reader, v.x.above(n)
	path := kit.Load(v.view, &v.slots.path, v.ctx, func(context.Context) (nodePath, error) {
		path, unavailable := pathOf(r, up)
		return nodePath{node: n, text: path, unavailable: unavailable}, nil
	}, func(p nodePath, _ error) tea.Cmd {
		v.path = p
		return nil
	})
	return tea.Batch(path, v.ensure())
}

func (v *View) follow() {
	h := max(v.pos.h, 1)
	v.pos.top = min(v.pos.top, v.pos.at)
	v.pos.top = max(v.pos.top, v.pos.at-h+1)
	v.pos.top = max(min(v.pos.top, len(v.rows)-h), 0)
}

// ensure reads the rows around the screen if some there were not read.
func (v *View) ensure() tea.Cmd {
	if v.err != nil || len(v.rows) == 0 {
		return nil
	}
	have := true
	for _, n := range v.rows[max(v.pos.top-rowsMargin, 0):min(v.pos.top+max(v.pos.h, 1)+rowsMargin, len(v.rows))] {
		if _, ok := v.labels[n]; !ok {
			have = false
			break
		}
	}
	if have {
		return nil
	}
	list := v.rows[max(v.pos.top-rowsAround, 0):min(v.pos.top+max(v.pos.h, 1)+rowsAround, len(v.rows))]
	nodes := make(map[int32]node, len(list))
	for _, n := range list {
		nodes[n] = v.x.nodes[n]
	}
	r := v.src.Reader
	return kit.Load(v.view, &v.slots.load, v.ctx, func(ctx context.Context) (map[int32]label, error) {
		out := make(map[int32]label, len(nodes))
		for i, n := range nodes {
			if ctx.Err() != nil {
				break
			}
			l, err := read(r, n)
			if err != nil {
				return nil, err
			}
			out[i] = l
		}
		return out, nil //nolint:nilerr // of a cancelled load what was read stays
	}, func(labels map[int32]label, err error) tea.Cmd {
		if err != nil {
			v.err = err
			return nil
		}
		v.labels = labels
		return v.ensure()
	})
}
