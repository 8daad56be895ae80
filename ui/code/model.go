package code

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Fetches give what the code of a fetch is written from. All but Source and Refused are called in commands.
type Fetches interface {
	// Source is a fetch of the profile in use, with the reference of its key.
	Source(r model.FetchRequest) history.CodeSource
	// Refused is why no program may have the key of a name, empty for the profile's: ADMIN is for people.
	Refused(key string) error
	// Secret resolves a reference.
	Secret(ctx context.Context, ref string) (keystore.Secret, error)
	// Write writes a file and names it. Without replace, a file that is there is an error that wraps fs.ErrExist.
	Write(name, text string, replace bool) (file string, err error)
	// Compared is the newest comparison of a request with a run by its zone and access method; an error that wraps
	// history.ErrNotFound says that there is none.
	Compared(ctx context.Context, r model.FetchRequest) (model.Grid, error)
	// SafePace is how many of a request may be in flight at once, and how that was found; 0 where it is not known.
	SafePace(ctx context.Context, r model.FetchRequest) (atOnce int, probed string)
}

// Deps are the parts the overlay works with.
type Deps struct {
	Ctx     context.Context //nolint:containedctx // the overlay's commands live as long as the program
	Theme   *kit.Theme
	Fetches Fetches
}

// Pages opens the overlay, and remembers which page was looked at last.
type Pages struct {
	deps Deps
	last string
}

// New makes Pages.
func New(d Deps) *Pages { return &Pages{deps: d} }

// pane is the overlay.
type pane struct {
	*Pages
	code   kit.ShowCode
	source history.CodeSource
	pages  []history.CodePage
	at     int
	scroll widget.Scroll
	slot   kit.Slot // the secret
	look   kit.Slot // the comparison
	newest newestComparison
	titled kit.Regions
	drawn  wrapped
}

// newestComparison is the newest comparison in the history, or why there is none, and what a probe found.
type newestComparison struct {
	grid   model.Grid
	err    error
	atOnce int
	probed string
}

// wrapped are the pages in lines, as they are drawn.
type wrapped struct {
	width, version int
	lines          [][]string // by page; nil for one that was not drawn
}

// Open makes the overlay for a fetch.
func (p *Pages) Open(code kit.ShowCode) kit.Overlay {
	o := &pane{Pages: p, code: code}
	o.write()
	if i := slices.IndexFunc(o.pages, func(pg history.CodePage) bool { return pg.Name == p.last }); i >= 0 {
		o.at = i
	}
	if code.Comparison != nil {
		o.at = slices.IndexFunc(o.pages, func(pg history.CodePage) bool { return pg.Name == "markdown" })
	}
	return o
}

// write makes the pages anew.
func (p *pane) write() {
	r := p.code.Request
	r.Via = cmp.Or(r.Via, model.ViaAPI)
	p.source = p.deps.Fetches.Source(r)
	p.source.Username = p.code.Username
	p.source.Observed, _ = p.observedUse()
	p.source.AtOnce, p.source.Probed = p.newest.atOnce, p.newest.probed
	p.drawn = wrapped{}
	p.pages = history.CodePages(p.source, p.deps.Fetches.Refused(r.Key), p.code.Comparison)
}

// observedUse is what compared runs showed of the request's zone and method: those of the comparison
// on screen, or of the newest in the history; false where there are none.
func (p *pane) observedUse() (string, bool) {
	zone, via := p.source.Request.Zone.Name, p.source.Request.Via
	if p.code.Comparison != nil {
		s, ok := p.code.Comparison.ObservedUse(zone, via)
		return "compared runs: " + s, ok
	}
	return history.ObservedUse(p.newest.grid, p.source.Request)
}

// lookUp looks for what a probe found, and for a comparison in the history, unless one is on screen.
func (p *pane) lookUp() tea.Cmd {
	fetches, r, onScreen := p.deps.Fetches, p.source.Request, p.code.Comparison != nil
	return kit.Load(kit.InOverlay(p), &p.look, p.deps.Ctx, func(ctx context.Context) (n newestComparison, err error) {
		n.atOnce, n.probed = fetches.SafePace(ctx, r)
		if !onScreen {
			n.grid, n.err = fetches.Compared(ctx, r)
		}
		return n, nil
	}, func(n newestComparison, _ error) tea.Cmd {
		p.newest = n
		p.write()
		return nil
	})
}

func (p *pane) page() history.CodePage { return p.pages[p.at] }

// Init looks for what compared runs showed; the code is there.
func (p *pane) Init() tea.Cmd { return p.lookUp() }

// Title is the word before the pages' titles.
func (p *pane) Title() string              { return "Code" }
func (p *pane) Hidden() (above, below int) { return p.scroll.Hidden() }

// Size is that of the longest page, so that it stays while the pages are turned.
func (p *pane) Size(w, h int) (int, int) {
	w = min(w-4, 140)
	longest := 0
	for i := range p.pages {
		longest = max(longest, len(p.lines(i, w)))
	}
	titles, _ := p.titles(w)
	return w, min(longest+len(titles)+1+len(p.foot(w)), h-4)
}

// Messages of the overlay.
type (
	turn     struct{ by int }
	otherWay struct{}
	copyIt   struct{}
	printIt  struct{}
	saveIt   struct{}
	inline   struct{} // ask whether to copy with the secret
	sure     struct{}
)

// Bindings are the keys of the overlay.
func (p *pane) Bindings() []kit.Binding {
	none := ""
	if err := p.page().Err; err != nil {
		none = err.Error()
	}
	const group = "Code"
	out := []kit.Binding{
		{Name: "code.next", Keys: []string{"right", "tab", "l"}, Label: "next", Help: "Show the next program.", Group: group, Intent: turn{1}},
		{Name: "code.previous", Keys: []string{"left", "shift+tab", "h"}, Label: "previous", Help: "Show the previous program.", Group: group, Intent: turn{-1}, Hidden: true},
		{Name: "code.copy", Keys: []string{"y"}, Label: "copy", Help: "Copy the code; the message says where it went.", Group: group, Intent: copyIt{}, Disabled: none},
		{Name: "code.save", Keys: []string{"s"}, Label: "save as…", Help: "Write the code to a file.", Group: group, Intent: saveIt{}, Disabled: none},
		{Name: "code.print", Keys: []string{"p", "ctrl+y"}, Label: "print", Help: "Print the code on the terminal's own screen, to select it there.", Group: group, Intent: printIt{}, Disabled: none},
		{Name: "code.other-way", Keys: []string{"v"}, Label: "by " + otherVia(p.source.Request.Via).String(), Help: "Show the fetch by the other access method.", Group: group, Intent: otherWay{}, Disabled: p.whyNotOther()},
		{Name: "code.copy-secret", Keys: []string{"!"}, Label: "copy with the secret", Help: "Copy the code with the key or the password in it, after a question.", Group: group, Intent: inline{}, Disabled: p.whyNotInline(), Dangerous: true},
		{Name: "code.close", Keys: []string{"esc", "x"}, Label: "close", Help: "Close the code.", Group: group, Intent: kit.Close{}},
	}
	return append(out, widget.MotionBindings()...)
}

func otherVia(v model.Via) model.Via {
	if v == model.ViaNative {
		return model.ViaAPI
	}
	return model.ViaNative
}

// whyNotOther returns the reason why there is no other access method, or "".
func (p *pane) whyNotOther() string {
	switch r := p.source.Request; {
	case p.code.Username != "":
		return "a proxy login always goes through the proxy"
	case r.Via != model.ViaNative && !r.Zone.Product.NativeAccess():
		return r.Zone.Product.Label() + " has no native access (contract 5.2)"
	}
	return ""
}

// whyNotInline returns the reason why the code cannot hold the secret, or "".
func (p *pane) whyNotInline() string {
	ref, what := p.source.SecretRef()
	pg := p.page()
	switch {
	case pg.Err != nil:
		return pg.Err.Error()
	case pg.Document():
		return "a comparison holds no secret"
	case pg.Name == "pac":
		return "a PAC file cannot hold a password"
	case ref == "":
		return "there is no reference to " + what
	case p.slot.Running():
		return what + " is being fetched"
	}
	return ""
}

// Update handles a key's message, and motion.
func (p *pane) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case turn:
		return p.turn(msg.by)
	case tea.MouseClickMsg:
		if hit, ok := p.titled.At(msg.X, msg.Y); ok && hit.Pane != p.at {
			return p.turn(hit.Pane - p.at)
		}
	case otherWay:
		p.code.Request.Via = otherVia(p.source.Request.Via)
		p.newest = newestComparison{}
		p.write()
		return tea.Batch(p.drop(), p.lookUp())
	case copyIt:
		return p.copies(p.page().Text, "")
	case printIt:
		return kit.Send(kit.Print{Text: p.page().Text})
	case saveIt:
		return p.save()
	case inline:
		return p.ask()
	case sure:
		return p.resolve()
	case replacing:
		return func() tea.Msg {
			then, err := msg()
			if err != nil {
				return kit.Toast{Kind: kit.ToastError, Text: err.Error()}
			}
			return then
		}
	default:
		p.scroll.Update(msg)
	}
	return nil
}

// turn shows the page that is by pages after this one.
func (p *pane) turn(by int) tea.Cmd {
	p.at = (p.at + by + len(p.pages)) % len(p.pages)
	p.last, p.scroll = p.page().Name, widget.Scroll{}
	return p.drop()
}

// copies copies a text; with is what secret it holds.
func (p *pane) copies(words, with string) tea.Cmd {
	what := "code for " + p.page().Title
	switch {
	case p.page().Document():
		what = "comparison as " + p.page().Title
	case with != "":
		return kit.CopySecret(what+" with "+with, words)
	default:
		for name := range p.source.Request.Header {
			if model.SecretName(name) {
				return kit.CopySecret(what+" with header "+name, words)
			}
		}
	}
	return kit.CopyText(what, words)
}

func (p *pane) ask() tea.Cmd {
	_, what := p.source.SecretRef()
	return widget.Confirm(p.deps.Theme, widget.ConfirmSpec{
		Title: "Copy with the secret?",
		Body: "The code goes to the clipboard with " + text.Clean(what) + " in clear. Other programs, and over SSH the terminal at the other end, can read the clipboard; " +
			"whoever gets the code can spend with it.",
		Yes: "copy with the secret", Intent: kit.ForOverlay{Overlay: p, Msg: sure{}},
	})
}

// resolve asks for the secret of what is on screen.
func (p *pane) resolve() tea.Cmd {
	ref, _ := p.source.SecretRef()
	fetches := p.deps.Fetches
	return kit.Load(kit.InOverlay(p), &p.slot, p.deps.Ctx, func(ctx context.Context) (keystore.Secret, error) {
		return fetches.Secret(ctx, ref)
	}, p.resolved)
}

// drop gives up a secret that is being fetched: what it was for is not on screen any more.
func (p *pane) drop() tea.Cmd {
	if !p.slot.Running() {
		return nil
	}
	p.slot.Drop()
	return kit.Warn("nothing was copied: the page shows other code now")
}

func (p *pane) resolved(secret keystore.Secret, err error) tea.Cmd {
	_, what := p.source.SecretRef()
	if err != nil {
		return kit.Fail(what + ": " + err.Error())
	}
	s := p.source
	s.Secret = secret.Reveal()
	words, err := p.page().Write(s)
	if err != nil {
		return kit.Fail(err.Error())
	}
	return p.copies(words, what)
}

// save asks for a file's name.
func (p *pane) save() tea.Cmd {
	pg, fetches := p.page(), p.deps.Fetches
	form := widget.NewForm(p.deps.Theme, widget.Field{Name: "file", Label: "File", Value: pg.File, Help: "A relative path starts at the folder in which zonedeck was started.", Check: checkName})
	d := widget.NewFormDialog(p.deps.Theme, "Save the code as", form)
	d.Submit = "save"
	d.OnSubmit = func(f *widget.Form) tea.Cmd {
		name := strings.TrimSpace(f.Value("file"))
		replaces := func() (tea.Msg, error) { return saved(fetches.Write(name, pg.Text, true)) }
		return d.Run(func() (tea.Msg, error) {
			then, err := saved(fetches.Write(name, pg.Text, false))
			if errors.Is(err, fs.ErrExist) {
				return kit.Open{Overlay: widget.NewConfirm(p.deps.Theme, widget.ConfirmSpec{
					Title: "Replace it?", Body: name + " is there already.", Yes: "replace it",
					Intent: kit.ForOverlay{Overlay: p, Msg: replacing(replaces)},
				})}, nil
			}
			return then, err
		})
	}
	return kit.OpenOverlay(d)
}

// replacing writes over a file.
type replacing func() (tea.Msg, error)

// saved is the message for a file that was written.
func saved(file string, err error) (tea.Msg, error) {
	return kit.Toast{Text: "saved the code as " + file}, err
}

func checkName(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("type a file name")
	}
	return nil
}
